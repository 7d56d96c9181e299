"""What a task of the pipeline does when its work fails: through Prefect itself, which decides whether to try again."""

import asyncio

import pytest
from prefect import flow, task
from prefect.settings import PREFECT_API_URL, temporary_settings

from blocks.errors import PermanentError, TransientError
from blocks.lake import LeaseLostError
from blocks.prefect_options import RETRY
from tests.flows.api import Api

pytestmark = [pytest.mark.prefect, pytest.mark.slow]


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (TransientError("the store is busy; run again"), 3),
        (LeaseLostError("another worker has it"), 1),
        (PermanentError("wrong"), 1),
        (ValueError("a fault of ours"), 1),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_only_what_is_transient_is_tried_again(api: Api, error: Exception, tries: int) -> None:
    seen = []

    @task(**{**RETRY, "retry_delay_seconds": 0.01})
    async def work() -> str:
        seen.append(error)
        if len(seen) < 3:
            raise error
        return "done"

    @flow
    async def run() -> str:
        return await work()

    with temporary_settings({PREFECT_API_URL: api.url}):
        state = asyncio.run(run(return_state=True))
    assert len(seen) == tries
    assert state.is_completed() is (tries == 3)
