"""Prefect task of the phase: write the release and commit its members."""

import asyncio
from collections.abc import Sequence

from prefect import task
from prefect.runtime import flow_run

from blocks.lake import PhaseKey
from blocks.prefect_options import RETRY
from blocks.workshop import open_workshop
from tasks.publish.phase import Published, publish_verified


@task(task_run_name="write-release", **RETRY)
async def write_release(verified: Sequence[PhaseKey], force: bool) -> Published | None:
    """Write a release of these capture runs; None where each is published already and `force` is not set."""
    return await asyncio.to_thread(publish_verified, open_workshop(flow_run.id), verified, force)
