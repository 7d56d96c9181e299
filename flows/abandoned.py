"""Flow runs whose process is gone: the server shows them as running until somebody ends them, which the next run does.

A run that a worker started is ended by that worker when its process dies; where both died, or a command was killed, nobody
is left to do it, and what limits how many may run counts it still. So each flow run signs itself with a label, and whoever
comes next ends those whose process is certainly dead.
"""

from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    FlowRunFilterState,
    FlowRunFilterStateType,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.states import Crashed

from blocks.lake import Owner
from blocks.owner import signs_dead

LABEL = "envmill.owner"
_MESSAGE = "Its process was killed; what it had committed is kept, and the next run goes on from there."
_BEGUN = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
_PAGE = 200


async def sign(flow_run_id: str) -> None:
    """Say on a flow run which process it is in."""
    async with get_client() as client:
        await client.update_flow_run_labels(UUID(flow_run_id), {LABEL: Owner.current().signature})


async def end_abandoned() -> int:
    """End as Crashed the flow runs whose process is gone, and their task runs. Returns how many flow runs."""
    async with get_client() as client:
        left = [run for run in await _unended(client) if signs_dead(str(run.labels.get(LABEL, "")))]
        for run in left:
            await _end(client, run)
    return len(left)


async def _unended(client: PrefectClient) -> list[FlowRun]:
    """Flow runs that began and have not ended."""
    asked = FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=_BEGUN)))
    found: list[FlowRun] = []
    while page := await client.read_flow_runs(flow_run_filter=asked, limit=_PAGE, offset=len(found)):
        found += page
    return found


async def _end(client: PrefectClient, run: FlowRun) -> None:
    """Past Prefect's rules: they would take a crash for a reason to wait, and nobody is there to wait."""
    tasks = await client.read_task_runs(
        flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])),
        task_run_filter=TaskRunFilter(state=TaskRunFilterState(type=TaskRunFilterStateType(any_=_BEGUN))),
    )
    for task in tasks:
        await client.set_task_run_state(task.id, Crashed(message=_MESSAGE), force=True)
    await client.set_flow_run_state(run.id, Crashed(message=_MESSAGE), force=True)
