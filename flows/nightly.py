"""The nightly flow: take in the inbox, bring every candidate as far as it goes, publish, index.

Needs a lake, a container engine and a Prefect server (see docs/operators.md). Only what is pending becomes a flow run;
running it again is the resume. Candidates run side by side in this process, `concurrency` at a time. The parent has no
retries of its own: subflows that are gathered would take over each other's results (Prefect issue 18601).
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from blocks.errors import EnvmillError, PermanentError
from blocks.lake import Manifest, PhaseKey, find_manifest, load_rows
from blocks.llm import model_run
from blocks.phases import PhaseResult, load_chain, result_of
from blocks.records import CandidateRow, CostRow, Phase, Record
from blocks.standing import standings
from blocks.workshop import Workshop, open_workshop
from flows.abandoned import end_abandoned, sign
from flows.artifacts import explain_verdict
from flows.hooks import remove_left_overs
from flows.indexing import index_patiently
from flows.ingest import ingest
from flows.patience import opened, patiently
from flows.pipeline import DEFINITIONS, stage_of
from flows.progress import Event, tell
from flows.publish import publish
from flows.qualify import qualify_wave
from tasks.ingest.steps import Taken


class RunReport(Record):
    """What one run did."""

    flow_run_id: str
    taken: tuple[Taken, ...]
    results: tuple[PhaseResult, ...]
    """Every phase that was run now, in the order it ended."""
    crashed: tuple[str, ...]
    """`<candidate> <phase>: why` of each infrastructure failure; the next run tries again."""
    release: str | None
    containers: int


@flow(
    name="nightly",
    flow_run_name=lambda: f"nightly-{datetime.now(UTC):%Y-%m-%d-%H%M%S}",
    on_cancellation=[remove_left_overs],
    on_crashed=[remove_left_overs],
)
async def nightly(candidates: Sequence[str] = (), publish_release: bool = True) -> RunReport:
    """Run the pipeline.

    Args:
        candidates: only these; empty: everything in the lake, after taking in the inboxes.
        publish_release: whether a release is made of what is verified.
    """
    run_id = str(flow_run.id)
    workshop = open_workshop(run_id)
    await sign(run_id)
    await end_abandoned()
    await patiently(_clean_up, workshop)
    tally = _Tally()
    taken: tuple[Taken, ...] = ()
    if not candidates:
        intake = await ingest(list(workshop.settings.inboxes))
        taken = intake.taken
        tally.fresh = {item.contribution_id for item in taken if not item.reused}
        tally.crashed += [f"ingest: {crash}" for crash in intake.crashed]
    await index_patiently(workshop)
    gate = asyncio.Semaphore(workshop.settings.concurrency)
    pending = await _pending(workshop, candidates, tally)
    with model_run(workshop.settings.models):
        going_on = await _qualify_together(workshop, pending, tally)
        await asyncio.gather(*(_bring(candidate, workshop, gate, tally) for candidate in going_on))
    release = None
    if publish_release:
        try:
            published = await publish()
        except EnvmillError as error:
            tally.crashed.append(f"publish: {error}")
        else:
            if published is not None:
                release = published.version
                tally.results += published.results
    await index_patiently(workshop)
    return RunReport(
        flow_run_id=run_id,
        taken=taken,
        results=tuple(tally.results),
        crashed=tuple(tally.crashed),
        release=release,
        containers=tally.containers,
    )


class _Tally:
    def __init__(self) -> None:
        self.results: list[PhaseResult] = []
        self.crashed: list[str] = []
        self.containers = 0
        self.fresh: set[str] = set()
        """Contributions that were taken in now."""
        self.qualified: set[str] = set()
        """Candidates that the wave has qualified now."""


async def _pending(workshop: Workshop, candidates: Sequence[str], tally: _Tally) -> list[str]:
    """Candidates for whom something is to be done, in one look at the catalog; of the others, what is committed is told."""
    store, settings = await opened(workshop), workshop.settings
    found = await patiently(standings, settings.catalog_path, store, settings, DEFINITIONS, candidates)
    for standing in found:
        if not standing.is_pending:
            label = label_of(standing.candidate)
            for result in standing.results:
                _tell(label, _as_seen_now(result, standing.candidate, tally), 0.0)
    ended = {standing.candidate.candidate_id for standing in found if not standing.is_pending}
    wanted = candidates or [standing.candidate.candidate_id for standing in found]
    return [candidate_id for candidate_id in wanted if candidate_id not in ended]


def _as_seen_now(result: PhaseResult, candidate: CandidateRow, tally: _Tally) -> PhaseResult:
    """What was taken in just now is committed, but not reused."""
    fresh = result.phase is Phase.INGEST and candidate.contribution_id in tally.fresh
    fresh |= result.phase is Phase.QUALIFY and candidate.candidate_id in tally.qualified
    return result.model_copy(update={"reused": not fresh})


async def _qualify_together(workshop: Workshop, candidates: Sequence[str], tally: _Tally) -> list[str]:
    """Qualify all that wait for it in one wave, where there are several. Returns those to go on with."""
    waiting: list[PhaseKey] = []
    for candidate_id in candidates:
        with contextlib.suppress(EnvmillError):  # said where the candidate is brought on
            _, key = await patiently(load_chain, workshop.store, workshop.settings, candidate_id, DEFINITIONS)
            waiting += [key] if key is not None and key.phase is Phase.QUALIFY else []
    if len(waiting) < 2:
        return list(candidates)
    report = await qualify_wave(waiting)
    fresh = [result for result in report.results if not result.reused]
    tally.results += fresh
    tally.qualified = {result.candidate_id for result in fresh}
    for key in waiting:
        if key.candidate_id in tally.qualified:
            with contextlib.suppress(EnvmillError):  # a page that cannot be read for now stops nobody
                await explain_verdict(workshop, key)
    tally.crashed += [f"{key.candidate_id} {key.phase}: {why}" for key, why in report.crashed]
    crashed = {key.candidate_id for key, _ in report.crashed}
    return [candidate_id for candidate_id in candidates if candidate_id not in crashed]


async def _bring(candidate_id: str, workshop: Workshop, gate: asyncio.Semaphore, tally: _Tally) -> None:
    """Bring one candidate as far as it goes; where the store fails it, the others go on."""
    async with gate:
        try:
            await _go(candidate_id, workshop, tally)
        except EnvmillError as error:
            tally.crashed.append(f"{candidate_id}: {error}")


async def _go(candidate_id: str, workshop: Workshop, tally: _Tally) -> None:
    """One phase after the other until nothing is pending; what is committed is told as reused."""
    told: set[Phase] = set()
    while True:
        chain, pending = await patiently(load_chain, workshop.store, workshop.settings, candidate_id, DEFINITIONS)
        if not chain.manifests:
            raise PermanentError("no such candidate in the lake; `envmill status` lists them")
        candidate = chain.candidate()
        label = label_of(candidate)
        for phase, manifest in chain.manifests.items():
            if phase not in told:
                told.add(phase)
                result = _as_seen_now(result_of(manifest, reused=True), candidate, tally)
                _tell(label, result, 0.0 if result.reused else manifest.phase_run().seconds)
        if pending is None:
            return
        tell(Event(candidate_id, label, pending.phase))
        if await _run_stage(pending, label, workshop, tally) is None:
            return
        told.add(pending.phase)


async def _run_stage(key: PhaseKey, label: str, workshop: Workshop, tally: _Tally) -> PhaseResult | None:
    stage = stage_of(key)
    started = time.monotonic()
    state: State[PhaseResult] = await stage.flow(key, label, return_state=True)
    seconds = time.monotonic() - started
    manifest = await patiently(find_manifest, workshop.store, key)
    if manifest is None:
        why = await _why(state)
        tally.crashed.append(f"{key.candidate_id} {key.phase}: {why}")
        tell(Event(key.candidate_id, label, key.phase, "crashed", "", why, seconds=seconds))
        return None
    result = result_of(manifest, reused=False)
    tally.results.append(result)
    tally.containers += await patiently(_containers, workshop, manifest)
    _tell(label, result, seconds)
    return result


async def _why(state: State[PhaseResult]) -> str:
    """What an infrastructure failure said; errors that are not our own are named by type only."""
    found = await state.aresult(raise_on_failure=False)
    return str(found) if isinstance(found, EnvmillError) else type(found).__name__


def _containers(workshop: Workshop, manifest: Manifest) -> int:
    """How many containers a phase run says it started."""
    rows = load_rows(workshop.store, manifest, CostRow)
    return int(sum(row.value for row in rows if row.kind == "containers"))


def _clean_up(workshop: Workshop) -> None:
    """Remove containers that crashed processes left."""
    workshop.engine.reap()


def _tell(label: str, result: PhaseResult, seconds: float) -> None:
    tell(
        Event(
            result.candidate_id,
            label,
            result.phase,
            result.outcome,
            result.reason_code,
            result.message,
            result.reused,
            seconds,
        )
    )


def label_of(candidate: CandidateRow) -> str:
    """`<repository>-<short id>`: what people see in run names."""
    name = candidate.repository.rstrip("/").rpartition("/")[2]
    return f"{name}-{candidate.candidate_id.removeprefix('c-')[:8]}"
