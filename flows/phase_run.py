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

from blocks.errors import TransientError
from blocks.lake import Lease, PhaseKey, find_manifest
from blocks.phases import PhaseResult, result_of
from blocks.records import Outcome
from blocks.work import LEASE_SEC, hold
from blocks.workshop import open_workshop
from flows.artifacts import explain_failure
from flows.patience import patiently

Steps = Callable[[PhaseKey], Awaitable[PhaseResult]]


def run_name() -> str:
    """`<phase>-<repository>-<short id>`, from the parameters of the flow run that begins."""
    key = PhaseKey.model_validate(flow_run.parameters["key"])
    return f"{key.phase}-{flow_run.parameters['label']}"


async def run_phase(key: PhaseKey, steps: Steps) -> State[PhaseResult]:
    """Run the steps of a phase under its lease and say how it ended."""
    workshop = open_workshop(flow_run.id)
    committed = await patiently(find_manifest, workshop.store, key)
    if committed is not None:
        return _state(result_of(committed, reused=True))
    lease = await patiently(hold, workshop, key)
    async with _renewed(lease):
        result = await steps(key)
    if result.outcome is Outcome.FAILED:
        await explain_failure(workshop, key, result)
    return _state(result)


@contextlib.asynccontextmanager
async def _renewed(lease: Lease) -> AsyncIterator[None]:
    """Renew the lease while the body runs; release it after, whatever happened."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE_SEC / 3)
            with contextlib.suppress(TransientError):
                await asyncio.to_thread(lease.renew)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
        with contextlib.suppress(TransientError):
            await patiently(lease.release)


def _state(result: PhaseResult) -> State[PhaseResult]:
    if result.outcome is Outcome.FAILED:
        return Failed(message=f"{result.reason_code}: {result.message}"[:4000])
    if result.outcome is Outcome.PASSED:
        return Completed(message=result.message[:4000], data=result)
    name = result.outcome.replace("_", " ").capitalize()
    return Completed(name=name, message=f"{result.reason_code}: {result.message}"[:4000], data=result)
