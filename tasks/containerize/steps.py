"""Prefect task of the phase: build and scan the environment image."""

import asyncio

from prefect import task
from prefect.runtime import flow_run

from blocks.lake import PhaseKey
from blocks.phases import PhaseResult
from blocks.prefect_options import RETRY
from blocks.work import perform
from blocks.workshop import open_workshop
from tasks.containerize.phase import CONTAINERIZE


@task(task_run_name="build_environment {key.candidate_id}", **RETRY)
async def build_environment(key: PhaseKey) -> PhaseResult:
    """Build and scan the environment image; the work runs in a thread, so that other candidates go on."""
    return await asyncio.to_thread(perform, CONTAINERIZE, key, open_workshop(flow_run.id))
