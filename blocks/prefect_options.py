"""What every task of the pipeline has: it retries only what is transient, with growing delays and jitter, and it is
noted when it starts, so that a run can wait until the server has recorded it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypedDict
from uuid import UUID

from prefect import Task
from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import exponential_backoff

from blocks.errors import is_transient
from blocks.lake import LeaseLostError


class TaskOptions(TypedDict):
    """Keyword arguments of `prefect.task`."""

    retries: int
    retry_delay_seconds: Any
    retry_jitter_factor: float
    retry_condition_fn: Any
    on_running: list[Any]


_started: ContextVar[set[UUID] | None] = ContextVar("started_task_runs", default=None)


@contextmanager
def started_task_runs() -> Iterator[set[UUID]]:
    """The ids of the task runs that start within, in this flow and those below it that run in this process."""
    ids: set[UUID] = set()
    mark = _started.set(ids)
    try:
        yield ids
    finally:
        _started.reset(mark)


def note_start(task: Task[..., Any], task_run: TaskRun, state: State[Any]) -> None:
    """Prefect's hook: a task run is running; a retry is the same task run again."""
    del task, state
    ids = _started.get()
    if ids is not None:
        ids.add(task_run.id)


async def worth_a_retry(task: Task[..., Any], task_run: TaskRun, state: State[Any]) -> bool:
    """Prefect's retry condition: the task raised something transient. A lease that went to another worker stays there.

    Async as the tasks are: their engine awaits it, and `state.result()` would only make a coroutine there.
    """
    del task, task_run
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, BaseException) and is_transient(error) and not isinstance(error, LeaseLostError)


RETRY: TaskOptions = {
    "retries": 4,
    "retry_delay_seconds": exponential_backoff(backoff_factor=2),
    "retry_jitter_factor": 0.5,
    "retry_condition_fn": worth_a_retry,
    "on_running": [note_start],
}
