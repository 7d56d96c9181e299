"""Qualify: four qualifiers judge one candidate at the same time; all pass, or it falls out, or a person looks."""

from prefect import flow
from prefect.client.schemas.objects import State

from blocks.lake import PhaseKey
from blocks.phases import PhaseResult
from flows.phase_run import run_name, run_phase
from tasks.qualify.steps import qualify_candidate


@flow(name="qualify", flow_run_name=run_name)
async def qualify(key: PhaseKey, label: str) -> State[PhaseResult]:
    """Run the phase for one candidate. `key` names the run, `label` is `<repository>-<short id>`."""
    del label
    return await run_phase(key, qualify_candidate)
