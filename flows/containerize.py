"""Containerize: the start state of one candidate becomes an image."""

from prefect import flow
from prefect.client.schemas.objects import State

from blocks.lake import PhaseKey
from blocks.phases import PhaseResult
from flows.phase_run import run_name, run_phase
from tasks.containerize.steps import build_environment


@flow(name="containerize", flow_run_name=run_name)
async def containerize(key: PhaseKey, label: str) -> State[PhaseResult]:
    """Run the phase for one candidate. `key` names the run, `label` is `<repository>-<short id>`."""
    del label
    return await run_phase(key, build_environment)
