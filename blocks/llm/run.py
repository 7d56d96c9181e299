"""The models of one run: who is asked, how many calls are in flight, what it may cost.

A run has one event loop for all its calls, in a thread of its own: LiteLLM keeps connections per loop, and those who ask
come from the loop of the flows and from threads. `model_run` gives one to whatever happens within; work that finds none
opens its own.
"""

import asyncio
import contextlib
import random
import threading
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import cached_property

from blocks.errors import UsageError
from blocks.llm.budget import Purse
from blocks.llm.faults import CallFailedError, Fault, NoAnswerError
from blocks.llm.litellm_model import Caller, LiteLLMCaller
from blocks.llm.messages import Completion, ModelRequest
from blocks.llm.prices import Prices
from blocks.records import CostRow, Phase
from blocks.settings import ModelSettings

_running: ContextVar["ModelRun | None"] = ContextVar("model_run", default=None)


@dataclass
class Spent:
    """What a piece of work has taken. `usd_assumed` is for calls whose bill nobody knows: as dear as they can be."""

    calls: int = 0
    failed_calls: int = 0
    replayed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    usd_assumed: float = 0.0


def cost_rows(candidate_id: str, phase: Phase, spents: Sequence[Spent]) -> list[CostRow]:
    """The rows of `costs`: money, calls and tokens together; none where nothing was asked."""
    total = {field.name: sum(getattr(spent, field.name) for spent in spents) for field in fields(Spent)}
    if not any(total.values()):
        return []
    return [
        CostRow(candidate_id=candidate_id, phase=phase, kind=f"model_{name}", value=float(value))
        for name, value in total.items()
    ]


class ModelRun:
    """Opened with the first call; closed by `close`."""

    def __init__(self, settings: ModelSettings, caller: Caller | None = None) -> None:
        self.settings = settings
        self.purse = Purse(settings.run_budget_usd, settings.candidate_budget_usd)
        self._litellm = LiteLLMCaller(settings)
        self._caller = caller or self._litellm
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """Who is asked, in turn.

        Raises:
            UsageError: no model is set.
        """
        if not self.settings.model:
            raise UsageError("no model is set; set models.model (e.g. 'openai/...'), or qualify.provider = 'rules'")
        return (self.settings.model, *self.settings.fallbacks)

    @cached_property
    def prices(self) -> Prices:
        """What they cost. Asking the first time may load LiteLLM."""
        known = set(self.models) <= set(self.settings.prices)
        return Prices(self.settings.prices, {} if known else self._litellm.prices())

    async def complete(
        self, candidate_id: str, request: ModelRequest, spent: Spent, limit_usd: float | None = None
    ) -> Completion:
        """A completion by the first model that gives one; what it took is added to `spent`.

        Args:
            candidate_id: whose budget pays.
            request: what is asked.
            spent: of the piece of work this belongs to.
            limit_usd: most that the piece of work may take, where it has a budget of its own.

        Raises:
            NoAnswerError: none does, or the budget does not allow it.
            UsageError: a model has no known price.
            PermanentError: a setting is wrong.
        """
        job = asyncio.run_coroutine_threadsafe(
            self._complete(candidate_id, request, spent, limit_usd), self._calls_loop()
        )
        return await asyncio.wrap_future(job)

    def warm(self) -> None:
        """Load LiteLLM now instead of with the first call."""
        self._litellm.prices()

    def close(self) -> None:
        """End the loop; calls in flight are given up."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result(timeout=30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=30)
        loop.close()
        self._loop = self._thread = None

    def _calls_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._gate = asyncio.Semaphore(self.settings.in_flight)
                self._thread = threading.Thread(target=self._loop.run_forever, name="model calls", daemon=True)
                self._thread.start()
            return self._loop

    async def _complete(
        self, candidate_id: str, request: ModelRequest, spent: Spent, limit_usd: float | None
    ) -> Completion:
        for model in request.models:
            self.prices.of(model)
        said = ""
        fault = Fault.UNAVAILABLE
        for model in request.models:
            try:
                return await self._insist(model, candidate_id, request, spent, limit_usd)
            except CallFailedError as error:
                said = str(error)
            except NoAnswerError as error:
                if error.fault is Fault.BUDGET:
                    raise
                said, fault = str(error), error.fault
        raise NoAnswerError(fault, said)

    async def _insist(
        self, model: str, candidate_id: str, request: ModelRequest, spent: Spent, limit_usd: float | None
    ) -> Completion:
        """One model until it answers or the tries are used up; waits grow, with jitter, or are what the provider asks."""
        for attempt in range(1, self.settings.attempts + 1):
            try:
                return await self._once(model, candidate_id, request, spent, limit_usd)
            except CallFailedError as error:
                wait = error.wait_sec if error.wait_sec is not None else _backoff(attempt, self.settings.backoff_sec)
                if attempt == self.settings.attempts or wait > self.settings.max_wait_sec:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("unreachable: attempts is at least one")

    async def _once(
        self, model: str, candidate_id: str, request: ModelRequest, spent: Spent, limit_usd: float | None
    ) -> Completion:
        most = self.prices.most(model, request)
        if limit_usd is not None and spent.usd + spent.usd_assumed + most > limit_usd:
            raise NoAnswerError(Fault.BUDGET, f"the next call may cost {most:.4f} USD, more than is left for this work")
        async with self._gate:
            reservation = await self.purse.reserve(candidate_id, most)
            taken = most
            """Until it is known better: whoever ends the call, also by cancelling it, may have to pay for it."""
            try:
                spent.calls += 1
                answer = await self._caller.call(model, request)
                # An answer that does not say what it took is counted as dear as it can be.
                told = answer.usage.prompt_tokens or answer.usage.completion_tokens
                taken = self.prices.cost(model, answer.usage) if told else most
                spent.usd += taken if told else 0.0
                spent.usd_assumed += 0.0 if told else taken
            except CallFailedError as error:
                spent.failed_calls += 1
                taken = 0.0 if error.answered else most
                spent.usd_assumed += taken
                raise
            except NoAnswerError:
                spent.failed_calls += 1
                taken = 0.0
                raise
            finally:
                self.purse.settle(reservation, taken)
        spent.prompt_tokens += answer.usage.prompt_tokens
        spent.completion_tokens += answer.usage.completion_tokens
        return answer.model_copy(update={"cost_usd": taken})


@contextlib.contextmanager
def model_run(settings: ModelSettings) -> Iterator[ModelRun]:
    """The run that is going on, else one of our own for what happens within."""
    found = _running.get()
    if found is not None:
        yield found
        return
    run = ModelRun(settings)
    mark = _running.set(run)
    try:
        yield run
    finally:
        _running.reset(mark)
        run.close()


def _backoff(attempt: int, base_sec: float) -> float:
    return base_sec * 2.0 ** (attempt - 1) * random.uniform(1.0, 1.5)


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
