"""Times, tokens and costs per row of the conversation, from `ui_messages.json`.

`conversationHistoryIndex` of a row is the index of the last row of the conversation when it was shown: the request that
carries user row j says j-1, and what the model then answers as row j+1 says j.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from blocks.records import Record
from tasks.ingest.raw import as_cost, as_int, as_map, as_moment, as_text

_NOT_SPOKEN = frozenset({"api_req_started", "checkpoint_created", "task_progress"})


class Request(Record):
    """One call of the model."""

    timestamp: datetime | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


class Timeline(Record):
    """What the interface says about rows of the conversation, by row index."""

    started_at: datetime | None = None
    requests: dict[int, Request] = Field(default_factory=dict)
    """By the index of the user row that was sent; of several tries the last."""
    answers: dict[int, datetime] = Field(default_factory=dict)
    """By the index of the assistant row: when its first piece was shown."""

    def moment(self, row: int, *, from_user: bool) -> datetime | None:
        """When the row was written."""
        if from_user:
            request = self.requests.get(row)
            return self.started_at if row == 0 else request.timestamp if request else None
        sent = self.requests.get(row - 1)
        return self.answers.get(row) or (sent.timestamp if sent else None)


def build_timeline(rows: Sequence[Mapping[str, object]]) -> Timeline:
    """Read what can be read; rows that are partial or malformed are left out."""
    rows = [row for row in rows if row.get("partial") is not True]
    requests: dict[int, Request] = {}
    answers: dict[int, datetime] = {}
    for row in rows:
        index, moment = as_int(row.get("conversationHistoryIndex")), as_moment(row.get("ts"))
        if index is None:
            continue
        say = as_text(row.get("say"))
        if say == "api_req_started":
            requests[index + 1] = _request(row.get("text"), moment)
        elif say and say not in _NOT_SPOKEN and moment and index >= 0:
            answers[index + 1] = min(moment, answers.get(index + 1, moment))
    started = next((moment for moment in (as_moment(row.get("ts")) for row in rows) if moment), None)
    return Timeline(started_at=started, requests=requests, answers=answers)


def _request(text: object, moment: datetime | None) -> Request:
    try:
        fields = as_map(json.loads(text)) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        fields = {}
    counted = [as_int(fields.get(name)) for name in ("tokensIn", "cacheWrites", "cacheReads")]
    return Request(
        timestamp=moment,
        prompt_tokens=None if counted[0] is None else sum(count or 0 for count in counted),
        completion_tokens=as_int(fields.get("tokensOut")),
        cost_usd=as_cost(fields.get("cost")),
    )
