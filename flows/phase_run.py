"""How every phase flow runs: lease, steps, and a state that a person understands in the Prefect UI.

A domain rejection is a Completed run that says so; a failed build is a Failed run with artifacts; the parent goes on
either way. Rerunning the flow is the resume: a committed manifest is reused.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from blocks.errors import EnvmillError, TransientError
from blocks.lake import Lease, PhaseKey, find_manifest
from blocks.phases import PhaseResult, result_of
from blocks.records import Outcome
from blocks.work import LEASE_SEC, hold, under
from blocks.workshop import Workshop, open_workshop
from flows.abandoned import sign
from flows.artifacts import explain_failure
from flows.failure_page import headline
from flows.patience import opened, patiently

Steps = Callable[[PhaseKey], Awaitable[PhaseResult]]

_PAUSE_SEC = 1.0


def run_name() -> str:
    """`<phase>-<repository>-<short id>`, from the parameters of the flow run that begins."""
    key = PhaseKey.model_validate(flow_run.parameters["key"])
    return f"{key.phase}-{flow_run.parameters['label']}"


async def run_phase(key: PhaseKey, steps: Steps) -> State[PhaseResult]:
    """Run the steps of a phase under its lease and say how it ended."""
    workshop = open_workshop(flow_run.id)
    await sign(flow_run.id)
    committed = await patiently(find_manifest, await opened(workshop), key)
    if committed is not None:
        return _state(result_of(committed, reused=True))
    lease = await patiently(hold, workshop, key)
    async with held(lease, workshop):
        result = await steps(key)
    if result.outcome is Outcome.FAILED:
        await explain_failure(workshop, key, result)
    return _state(result)


@contextlib.asynccontextmanager
async def held(lease: Lease, workshop: Workshop, *, renew_sec: float = LEASE_SEC / 3) -> AsyncIterator[None]:
    """Renew the lease while the body runs; after it, whatever happened, release it and remove what is left of the run.

    Where a renewal finds that the lease is another worker's, the body can write nothing more, and its containers go, so
    that it ends.
    """
    renewing = asyncio.create_task(_renew(lease, workshop, renew_sec))
    try:
        with under(lease):
            yield
    finally:
        renewing.cancel()
        await _remove_containers(workshop)
        with contextlib.suppress(EnvmillError):  # it ends by itself
            await patiently(lease.release)


async def _renew(lease: Lease, workshop: Workshop, renew_sec: float) -> None:
    while not lease.is_lost:
        await asyncio.sleep(renew_sec)
        with contextlib.suppress(TransientError):
            await asyncio.to_thread(lease.renew)
    while True:
        await _remove_containers(workshop)
        await asyncio.sleep(_PAUSE_SEC)


async def _remove_containers(workshop: Workshop) -> None:
    """Those of this flow run: what a step waits for, or what an engine that failed for a while could not remove."""
    with contextlib.suppress(EnvmillError):  # the reaper of the next run is there in the end
        await asyncio.to_thread(lambda: workshop.engine.remove_of_run())


def _state(result: PhaseResult) -> State[PhaseResult]:
    if result.outcome is Outcome.FAILED:
        return Failed(message=f"{result.reason_code}: {headline(result.message)}")
    if result.outcome is Outcome.PASSED:
        return Completed(message=result.message[:4000], data=result)
    name = result.outcome.replace("_", " ").capitalize()
    return Completed(name=name, message=f"{result.reason_code}: {result.message}"[:4000], data=result)
