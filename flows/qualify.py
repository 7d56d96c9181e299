"""Qualify: four qualifiers judge one candidate at the same time; all pass, or it falls out, or a person looks.

Alone, a candidate is a flow run with a subflow for each qualifier, so that each can be inspected. Many at once are one
flow run, a wave, with a task run for each qualifier: a subflow takes a third of a second of a small server, and the models
would wait for Prefect (docs/decisions.md).
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from blocks.errors import EnvmillError
from blocks.lake import PhaseKey, find_manifest
from blocks.llm import model_run
from blocks.phases import PhaseResult, result_of
from blocks.records import Decision, Qualifier, Record
from blocks.settings import Settings
from blocks.work import hold, unexpected
from blocks.workshop import Workshop, open_workshop
from flows.abandoned import sign
from flows.artifacts import explain_verdict
from flows.hooks import remove_left_overs
from flows.patience import opened, patiently
from flows.phase_run import held, run_name, run_phase
from tasks.qualify.steps import ask_qualifier, qualify_candidate, settle_verdicts

_PER_CANDIDATE = len(Qualifier)


class WaveReport(Record):
    """How the candidates of a wave ended."""

    results: tuple[PhaseResult, ...]
    """In the order of the keys, without those that crashed."""
    crashed: tuple[tuple[PhaseKey, str], ...]
    """Infrastructure failures, and why; nothing is committed for them."""


@flow(name="qualifier", flow_run_name="{qualifier.value}-{label}")
async def qualifier_run(key: PhaseKey, qualifier: Qualifier, label: str) -> Decision:
    """One qualifier's verdict on one candidate."""
    del label
    return await ask_qualifier(key, qualifier)


@flow(name="qualify", flow_run_name=run_name)
async def qualify(key: PhaseKey, label: str) -> State[PhaseResult]:
    """Run the phase for one candidate. `key` names the run, `label` is `<repository>-<short id>`."""

    async def four_subflows(key: PhaseKey) -> PhaseResult:
        started_at = datetime.now(UTC)
        with model_run(open_workshop().settings.models):
            await asyncio.gather(*(qualifier_run(key, qualifier, label) for qualifier in Qualifier))
        return await settle_verdicts(key, started_at)

    state = await run_phase(key, four_subflows)
    await explain_verdict(open_workshop(flow_run.id), key)
    return state


@flow(
    name="qualify-wave",
    flow_run_name=lambda: f"qualify-wave-{datetime.now(UTC):%Y-%m-%d-%H%M%S}",
    on_cancellation=[remove_left_overs],
    on_crashed=[remove_left_overs],
)
async def qualify_wave(keys: Sequence[PhaseKey]) -> WaveReport:
    """Run the phase for many candidates at the same time, each under its own lease. One that crashes stops no other."""
    workshop = open_workshop(flow_run.id)
    await sign(flow_run.id)
    await opened(workshop)
    gate = asyncio.Semaphore(at_once(workshop.settings))
    with model_run(workshop.settings.models):
        ended = await asyncio.gather(*(_one(key, workshop, gate) for key in keys))
    return WaveReport(
        results=tuple(result for result in ended if isinstance(result, PhaseResult)),
        crashed=tuple((key, why) for key, why in zip(keys, ended, strict=True) if isinstance(why, str)),
    )


def at_once(settings: Settings) -> int:
    """Candidates of a wave that are worked on at the same time.

    By rules it is all work of this machine's processors. With a model, twice what the calls in flight belong to: half of
    them wait for an answer while the others get ready. Not all: what every task run takes to begin would come first.
    """
    if settings.qualify.provider == "rules":
        return settings.concurrency
    return max(settings.concurrency, 2 * settings.models.in_flight // _PER_CANDIDATE)


async def _one(key: PhaseKey, workshop: Workshop, gate: asyncio.Semaphore) -> PhaseResult | str:
    """The result, or why there is none: the boundary that keeps what nobody expected of one candidate from the others."""
    async with gate:
        try:
            committed = await patiently(find_manifest, workshop.store, key)
            if committed is not None:
                return result_of(committed, reused=True)
            lease = await patiently(hold, workshop, key)
            async with held(lease, workshop):
                return await qualify_candidate(key)
        except EnvmillError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - named boundary, see above
            return str(unexpected(key, error))
