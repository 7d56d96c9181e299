"""Prefect task of the phase: rebuild both states and test them."""

import asyncio

from prefect import task
from prefect.runtime import flow_run

from blocks.lake import PhaseKey
from blocks.phases import PhaseResult
from blocks.prefect_options import RETRY
from blocks.work import perform
from blocks.workshop import open_workshop
from tasks.archaeology.phase import ARCHAEOLOGY


@task(task_run_name="rebuild_states {key.candidate_id}", **RETRY)
async def rebuild_states(key: PhaseKey) -> PhaseResult:
    """Rebuild both states and test them; the work runs in a thread, so that other candidates go on."""
    return await asyncio.to_thread(perform, ARCHAEOLOGY, key, open_workshop(flow_run.id))
