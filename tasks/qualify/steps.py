"""Prefect tasks of the phase: one per qualifier, run at the same time, and one that settles and commits."""

import asyncio
from datetime import UTC, datetime

from prefect import task
from prefect.runtime import flow_run

from blocks.errors import EnvmillError
from blocks.lake import PhaseKey
from blocks.phases import PhaseResult
from blocks.prefect_options import RETRY
from blocks.records import Decision, Qualifier
from blocks.work import perform_with, unexpected
from blocks.workshop import open_workshop
from tasks.qualify.phase import judge, settle


@task(task_run_name="{qualifier.value} {key.candidate_id}", **RETRY)
async def ask_qualifier(key: PhaseKey, qualifier: Qualifier) -> Decision:
    """One qualifier's verdict; it lies in the lake, only the decision is passed on.

    Also the boundary where the text of unexpected errors ends: it may hold what came from a session, and Prefect keeps it.
    """
    try:
        return await judge(open_workshop(flow_run.id), key, qualifier)
    except EnvmillError:
        raise
    except Exception as error:  # noqa: BLE001 - named boundary, see above
        fault = unexpected(key, error)
    raise fault


@task(task_run_name="settle {key.candidate_id}", **RETRY)
async def settle_verdicts(key: PhaseKey, started_at: datetime) -> PhaseResult:
    """Commit the four verdicts and what follows from them."""
    workshop = open_workshop(flow_run.id)
    return await asyncio.to_thread(
        perform_with, key, workshop, lambda _chain, writer: settle(writer, key.candidate_id), started_at
    )


async def qualify_candidate(key: PhaseKey) -> PhaseResult:
    """The four at the same time, then the decision."""
    started_at = datetime.now(UTC)
    await asyncio.gather(*(ask_qualifier(key, qualifier) for qualifier in Qualifier))
    return await settle_verdicts(key, started_at)
