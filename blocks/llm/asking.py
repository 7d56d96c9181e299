"""A model as the phases ask it: for one candidate, with answers kept or replayed."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from blocks.llm.cache import CandidateCache, Exchange, Kept, not_recorded
from blocks.llm.messages import Completion, ModelRequest
from blocks.llm.run import ModelRun, Spent

_SHOWN = 2000


class Model(Protocol):
    """Completes requests; `spent` grows with what they take."""

    name: str
    """The provider: `litellm` or `recorded`."""
    spent: Spent

    async def complete(self, request: ModelRequest) -> Completion:
        """A completion.

        Raises:
            NoAnswerError: there is none.
            PermanentError: a setting is wrong.
        """
        ...


@dataclass
class LiveModel:
    """Asks through LiteLLM, once per request: what was answered before is replayed from the candidate's cache."""

    run: ModelRun
    cache: CandidateCache
    candidate_id: str
    paid_by: str
    limit_usd: float | None = None
    """Most that this piece of work may take, where it has a budget of its own beside the candidate's."""
    spent: Spent = field(default_factory=Spent)
    name: str = "litellm"

    async def complete(self, request: ModelRequest) -> Completion:
        """The kept answer, or a new one.

        A kept answer costs nothing, unless this same work paid for it and ended before it could say so.
        """
        key = request.key
        found = await asyncio.to_thread(self.cache.find, key)
        if found is not None:
            self.spent.replayed += 1
            if found.paid_by == self.paid_by:
                self.spent.usd += found.completion.cost_usd
            return found.completion
        completion = await self.run.complete(self.candidate_id, request, self.spent, self.limit_usd)
        exchange = Exchange(
            key=key,
            prompt=request.prompt,
            models=request.models,
            paid_by=self.paid_by,
            last_message=request.messages[-1].content[-_SHOWN:],
            completion=completion,
        )
        await asyncio.to_thread(self.cache.keep, exchange)
        return completion


@dataclass
class RecordedModel:
    """Replays recorded answers; asks nobody and costs nothing."""

    recorded: Kept
    spent: Spent = field(default_factory=Spent)
    name: str = "recorded"

    async def complete(self, request: ModelRequest) -> Completion:
        """The recorded answer of exactly this request.

        Raises:
            NoAnswerError: (not recorded) there is none.
        """
        found = await asyncio.to_thread(self.recorded.find, request.key)
        if found is None:
            raise not_recorded(request)
        self.spent.replayed += 1
        return found.completion.model_copy(update={"cost_usd": 0.0})
