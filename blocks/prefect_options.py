"""How every task of the pipeline retries: only what is transient, with growing delays and jitter."""

from typing import Any, TypedDict

from prefect import Task
from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import exponential_backoff

from blocks.errors import is_transient


class TaskOptions(TypedDict):
    """Keyword arguments of `prefect.task`."""

    retries: int
    retry_delay_seconds: Any
    retry_jitter_factor: float
    retry_condition_fn: Any


def worth_a_retry(task: Task[..., Any], task_run: TaskRun, state: State[Any]) -> bool:
    """Prefect's retry condition: the task raised something transient."""
    del task, task_run
    try:
        state.result()
    except BaseException as error:  # noqa: BLE001 - a condition looks at whatever was raised and only answers
        return is_transient(error)
    return False


RETRY: TaskOptions = {
    "retries": 3,
    "retry_delay_seconds": exponential_backoff(backoff_factor=2),
    "retry_jitter_factor": 0.5,
    "retry_condition_fn": worth_a_retry,
}
