"""Prefect task of the phase: record oracle, nop and replay."""

import asyncio

from prefect import task
from prefect.runtime import flow_run

from blocks.lake import PhaseKey
from blocks.phases import PhaseResult
from blocks.prefect_options import RETRY
from blocks.work import perform
from blocks.workshop import open_workshop
from tasks.capture.phase import CAPTURE


@task(task_run_name="record_rollouts {key.candidate_id}", **RETRY)
async def record_rollouts(key: PhaseKey) -> PhaseResult:
    """Record oracle, nop and replay; the work runs in a thread, so that other candidates go on."""
    return await asyncio.to_thread(perform, CAPTURE, key, open_workshop(flow_run.id))
