"""Verifier synthesis: hidden tests, grader and quality card of one candidate."""

from prefect import flow
from prefect.client.schemas.objects import State

from blocks.lake import PhaseKey
from blocks.phases import PhaseResult
from flows.phase_run import run_name, run_phase
from tasks.synthesis.steps import measure_verifier


@flow(name="synthesis", flow_run_name=run_name)
async def synthesis(key: PhaseKey, label: str) -> State[PhaseResult]:
    """Run the phase for one candidate. `key` names the run, `label` is `<repository>-<short id>`."""
    del label
    return await run_phase(key, measure_verifier)
