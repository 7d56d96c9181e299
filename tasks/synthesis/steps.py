"""Prefect task of the phase: make the verifier and measure it."""

import asyncio

from prefect import task
from prefect.runtime import flow_run

from blocks.lake import PhaseKey
from blocks.phases import PhaseResult
from blocks.prefect_options import RETRY
from blocks.work import perform
from blocks.workshop import open_workshop
from tasks.synthesis.phase import SYNTHESIS


@task(task_run_name="measure_verifier {key.candidate_id}", **RETRY)
async def measure_verifier(key: PhaseKey) -> PhaseResult:
    """Make the verifier and measure it; the work runs in a thread, so that other candidates go on."""
    return await asyncio.to_thread(perform, SYNTHESIS, key, open_workshop(flow_run.id))
