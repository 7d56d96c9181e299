"""Writes a Cline classic task (3.51): the API history and the UI rows of the same conversation, kept in step.

Shapes, keys and their order follow a real export; see docs on the format for what each field means.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

Json = dict[str, Any]

MODEL_ID = "claude-opus-4-5-20251101"
PROVIDER_ID = "anthropic"
MODE = "act"
ZONE = timezone(timedelta(hours=1))
ZONE_LABEL = "Europe/Lisbon, UTC+1:00"
CHARS_PER_TOKEN = 3.6
SYSTEM_TOKENS = 8200
PRICE_PER_TOKEN = {"in": 5e-6, "out": 25e-6, "cache_write": 6.25e-6, "cache_read": 0.5e-6}


def compact(value: Any) -> str:
    """JSON as JavaScript writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class Tool:
    """One tool call: its name and input, the UI rows it leaves, and the text of its result."""

    name: str
    input: Json
    label: str
    """What the result is headed with: `read_file for 'x'`."""
    result: str
    row: Json | None = None
    """The `say: tool` payload; None for commands."""
    output: str | None = None
    """What a command printed."""
    denied: bool = False


@dataclass
class ClineTask:
    """The two message lists, the clock and the counters behind them."""

    rng: random.Random
    clock: int
    """Now, in milliseconds since the epoch."""
    open_tabs: list[str]
    visible: str
    api: list[Json] = field(default_factory=list)
    ui: list[Json] = field(default_factory=list)
    cached: int = 0
    _request: Json = field(default_factory=dict)

    @property
    def model(self) -> Json:
        return {"providerId": PROVIDER_ID, "modelId": MODEL_ID, "mode": MODE}

    def wait(self, low: int, high: int) -> int:
        """Let `low` to `high` milliseconds pass."""
        self.clock += self.rng.randint(low, high)
        return self.clock

    def environment(self, details: str = "") -> str:
        now = datetime.fromtimestamp(self.clock / 1000, ZONE)
        stamp = f"{now.month}/{now.day}/{now.year}, {now.hour % 12 or 12}:{now:%M:%S} {'AM' if now.hour < 12 else 'PM'}"
        tabs = "\n".join(self.open_tabs)
        return (
            f"<environment_details>\n# Visual Studio Code Visible Files\n{self.visible}\n\n"
            f"# Visual Studio Code Open Tabs\n{tabs}\n\n# Current Time\n{stamp} ({ZONE_LABEL})\n\n"
            f"{details}# Current Mode\nACT MODE\n</environment_details>"
        )

    def say(self, kind: str, *, index: int | None = None, **fields: Any) -> Json:
        row: Json = {"ts": self.clock, "type": "say", "say": kind, **fields, "modelInfo": self.model}
        row["conversationHistoryIndex"] = len(self.api) - 1 if index is None else index
        self.ui.append(row)
        return row

    def ask(self, kind: str, **fields: Any) -> Json:
        row: Json = {"ts": self.clock, "type": "ask", "ask": kind, **fields}
        row["conversationHistoryIndex"] = len(self.api) - 1
        self.ui.append(row)
        return row

    def checkpoint(self) -> None:
        self.wait(30, 90)
        row = self.say("checkpoint_created")
        row["lastCheckpointHash"] = self._hex(40)
        row["isCheckpointCheckedOut"] = False

    def request(self, texts: Sequence[str]) -> None:
        """What goes to the model: the user's message, or tool results. Its last part is the environment."""
        self.wait(60, 120)
        self._request = self.say("api_req_started", text=compact({"request": "\n\n".join(texts)}))
        self.api.append({"role": "user", "content": [{"type": "text", "text": text} for text in texts]})

    def respond(self, thinking: str, text: str, tools: Sequence[Tool]) -> None:
        """The model's answer, as it streams in. Result rows of the first tool follow with `finish`."""
        self.wait(2300, 3400)
        self.say("reasoning", text=thinking, partial=not text)
        if text:
            self.wait(500, 2500)
            self.say("text", text=text, partial=True)
        first = tools[0]
        self.wait(700, 1500)
        if first.row is not None:
            self.say("tool", text=compact(first.row), partial=False)
        elif first.name == "execute_command" and first.denied:
            self.ask("command", text=first.input["command"])
        elif first.name == "execute_command":
            self.say("command", text=first.input["command"], partial=False)["commandCompleted"] = True
        content = [self._thinking(thinking)]
        if text:
            content.append({"type": "text", "text": f"\n{text}", "reasoning_details": [], "call_id": ""})
        for tool in tools:
            block: Json = {"type": "tool_use", "id": f"toolu_01{self._id(22)}", "name": tool.name, "input": tool.input}
            content.append(block if text else {**block, "reasoning_details": []})
        self._append_answer(content)

    def finish(self, tools: Sequence[Tool], details: str = "") -> list[str]:
        """Run the first tool; the others are refused, as Cline allows one per message. Gives the next request."""
        first = tools[0]
        if first.output is not None:
            self.wait(400, 2200)
            self.ask("command_output", text=first.output)
        self.wait(2500, 9000)
        if "task_progress" in first.input:
            self.say("task_progress", text=first.input["task_progress"])
        self.checkpoint()
        texts = [f"[{first.label}] Result:\n{first.result}"]
        texts += [
            f"Tool [{tool.name}] was not executed because a tool has already been used in this message. Only one tool "
            "may be used per message. You must assess the first tool's result before proceeding to use the next tool."
            for tool in tools[1:]
        ]
        return [*texts, self.environment(details)]

    def complete(self, thinking: str, result: str, progress: str) -> None:
        """attempt_completion: the model thinks that it is done."""
        self.wait(2300, 3400)
        self.say("reasoning", text=thinking, partial=True)
        call: Json = {
            "type": "tool_use",
            "id": f"toolu_01{self._id(22)}",
            "name": "attempt_completion",
            "input": {"result": result, "task_progress": progress},
            "reasoning_details": [],
        }
        self._append_answer([self._thinking(thinking), call])
        self.wait(9000, 14000)
        row = self.say("completion_result", text=f"{result}HAS_CHANGES")
        row["lastCheckpointHash"] = self._hex(40)
        self.wait(180, 260)
        self.say("task_progress", text=progress)
        self.wait(40, 70)
        self.ask("completion_result", text="")

    def feedback(self, text: str, *, minutes: tuple[int, int]) -> None:
        """The user objects to a completion; the next request carries what they say."""
        self.wait(minutes[0] * 60_000, minutes[1] * 60_000)
        self.say("user_feedback", text=text, images=[], files=[])
        self.checkpoint()
        self.request(
            [
                "[attempt_completion] Result:",
                "The user has provided feedback on the results. Consider their input to continue the task, and then "
                f"attempt completion again.\n<feedback>\n{text}\n</feedback>",
                self.environment(),
            ]
        )

    def cancel(self, thinking: str, text: str) -> None:
        """The user stops the model while it answers."""
        self.wait(2300, 3400)
        self.say("reasoning", text=thinking, partial=False)
        self.wait(600, 900)
        self.say("text", text=text, partial=True)
        stopped: Json = {
            "type": "text",
            "text": f"\n{text}\n\n[Response interrupted by user]",
            "reasoning_details": [],
            "call_id": "",
        }
        self._append_answer([self._thinking(thinking), stopped])
        payload = json.loads(self._request["text"])
        self._request["text"] = compact({**payload, "cancelReason": "user_cancelled"})
        self.wait(900, 1600)
        self.ask("resume_task")

    def _append_answer(self, content: list[Json]) -> None:
        written = round(sum(len(block["text"]) for block in self.api[-1]["content"]) / CHARS_PER_TOKEN)
        if len(self.api) == 1:
            written += SYSTEM_TOKENS
        produced = round(sum(len(compact(block)) for block in content if block["type"] != "thinking") / CHARS_PER_TOKEN)
        cost = (
            10 * PRICE_PER_TOKEN["in"]
            + produced * PRICE_PER_TOKEN["out"]
            + written * PRICE_PER_TOKEN["cache_write"]
            + self.cached * PRICE_PER_TOKEN["cache_read"]
        )
        payload = json.loads(self._request["text"])
        usage = {"tokensIn": 10, "tokensOut": produced, "cacheWrites": written, "cacheReads": self.cached}
        self._request["text"] = compact({**payload, **usage, "cost": round(cost, 8)})
        self.cached += written
        self.api.append(
            {
                "role": "assistant",
                "content": content,
                "modelInfo": {"modelId": MODEL_ID, "providerId": PROVIDER_ID, "mode": MODE},
                "metrics": {"tokens": {"prompt": 10, "completion": produced, "cached": self.cached}},
            }
        )

    def _thinking(self, text: str) -> Json:
        return {"type": "thinking", "thinking": text, "signature": f"E{self._id(233)}gB", "summary": []}

    def _hex(self, length: int) -> str:
        return "".join(self.rng.choice("0123456789abcdef") for _ in range(length))

    def _id(self, length: int) -> str:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        return "".join(self.rng.choice(letters) for _ in range(length))
