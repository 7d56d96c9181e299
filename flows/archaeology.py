"""Archaeology: the start and the end state of one candidate are rebuilt and tested."""

from prefect import flow
from prefect.client.schemas.objects import State

from blocks.lake import PhaseKey
from blocks.phases import PhaseResult
from flows.phase_run import run_name, run_phase
from tasks.archaeology.steps import rebuild_states


@flow(name="archaeology", flow_run_name=run_name)
async def archaeology(key: PhaseKey, label: str) -> State[PhaseResult]:
    """Run the phase for one candidate. `key` names the run, `label` is `<repository>-<short id>`."""
    del label
    return await run_phase(key, rebuild_states)
