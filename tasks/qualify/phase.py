"""Qualify as a phase: one verdict per qualifier, each on its own; then they are put together and committed.

A verdict lies in the lake as soon as it is there, below the phase run's own folder: what passes between the parts of the
phase is which one is done, and settling reads them. Only the commit makes them count.
"""

import asyncio
import time

from blocks.chain import Chain, load_upstream
from blocks.lake import PhaseKey, PhaseWriter
from blocks.llm import cost_rows, model_run
from blocks.phases import Decision as PhaseDecision
from blocks.phases import PhaseDefinition
from blocks.records import Decision, Phase, Qualifier, ReasonCode, Record
from blocks.repositories import MirrorMap, RepositoryUnreachableError
from blocks.session import Session
from blocks.settings import Settings
from blocks.start import START
from blocks.work import writer_of
from blocks.workshop import Workshop
from tasks.qualify.aggregate import QUALIFIERS, aggregate
from tasks.qualify.judging import Case, judge_for, names_of
from tasks.qualify.origin import unreachable
from tasks.qualify.review import human_verdicts, latest_review, with_chosen
from tasks.qualify.start import placed
from tasks.qualify.surroundings import look_around
from tasks.qualify.tables import digest_of_tables
from tasks.qualify.verdict import Judgement, Verdict, reach

VERSION = 4
INSTRUCTION = "instruction.json"


class Config(Record):
    """Settings that change a verdict."""

    provider: str
    models: tuple[str, ...]
    """Models, versions of prompts, limits; empty for `rules`."""
    licences: tuple[str, ...]
    licence_gate: bool
    window_days: int
    max_changed_lines: int
    known_benchmarks: bool
    github_api: bool
    github_url: str | None
    tables: str
    """Digest of what data/demands.toml and the lists of known benchmarks say."""


class ReadFrom(Record):
    """What of the candidate's own repository changes a verdict beside its content."""

    source: str
    """Digest of what the mirror map says of it; a rejection is not reused once it is read from elsewhere."""


class Timed(Record):
    """A verdict and what it took."""

    verdict: Verdict
    seconds: float


class NoRepository(Record):
    """Evidence of a qualifier that could not look."""

    repository: str
    fault: str


def collect(workshop: Workshop, chain: Chain, qualifier: Qualifier) -> Case:
    """One qualifier's evidence and the rule's verdict on it. A repository that cannot be reached fails at origin and leaves
    the others unsure.

    Raises:
        TransientError: the repository's source did not answer this time.
    """
    session = chain.record(Phase.INGEST, "session.json", Session)
    settings = workshop.settings.qualify
    try:
        repository = workshop.mirrors.open(session.repository, commit=session.start_commit)
        # Origin looks for the stand-in itself; it may take seconds, so it is looked for once.
        here = session if qualifier is Qualifier.ORIGIN else placed(session, repository)
        verdict = QUALIFIERS[qualifier](here, repository, settings, look_around(workshop, chain))
    except RepositoryUnreachableError as error:
        if qualifier is Qualifier.ORIGIN:
            verdict = unreachable(error, settings)
        else:
            evidence = NoRepository(repository=session.repository, fault=str(error))
            verdict = reach(qualifier, evidence, lambda: _could_not_look(evidence.fault))
        return Case(verdict, session, None, None)
    start = verdict.start.base_commit if verdict.start else repository.resolve(here.start_commit)
    return Case(verdict, session, repository, start)


async def judge(workshop: Workshop, key: PhaseKey, qualifier: Qualifier) -> Decision:
    """One qualifier's verdict, left in the lake. Blocking work is done in threads.

    Raises:
        TransientError: the repository's source did not answer this time.
        PermanentError: a setting of the models is wrong.
    """
    started = time.monotonic()
    chain = await asyncio.to_thread(load_upstream, workshop.store, key)
    case = await asyncio.to_thread(collect, workshop, chain, qualifier)
    return await decide(workshop, key, case, started)


async def decide(workshop: Workshop, key: PhaseKey, case: Case, started: float) -> Decision:
    """Have a case reviewed by the judge of the settings, and leave the verdict in the lake. `started`: monotonic seconds.

    Raises:
        LeaseLostError: the phase run is another worker's by now; the verdict is not written.
    """
    with model_run(workshop.settings.models) as run:
        reviewer = judge_for(workshop.settings, run, workshop.store, key.candidate_id, key.input_key)
        verdict = await reviewer.review(case)
    timed = Timed(verdict=verdict, seconds=time.monotonic() - started)
    writer = writer_of(workshop, key)
    await asyncio.to_thread(writer.record, _name(verdict.qualifier), timed)
    return verdict.decision


def settle(writer: PhaseWriter, candidate_id: str) -> PhaseDecision:
    """Put the verdicts that lie in the lake together, with what a person decided; write their rows, and the start."""
    timed = [_read(writer, qualifier) for qualifier in QUALIFIERS]
    verdicts = [one.verdict for one in timed]
    for start in (verdict.start for verdict in verdicts if verdict.start is not None):
        writer.record(START, start)
    for instruction in (verdict.instruction for verdict in verdicts if verdict.instruction is not None):
        writer.record(INSTRUCTION, instruction)
    for one in timed:
        writer.record(_name(one.verdict.qualifier), one)
    review = latest_review(writer.store, candidate_id)
    human = human_verdicts(verdicts, review)
    rows = [one.verdict.row(candidate_id, one.seconds) for one in timed]
    writer.rows([*rows, *(verdict.row(candidate_id, 0.0) for verdict in human)])
    writer.rows([row for verdict in verdicts for row in verdict.requirement_rows(candidate_id)])
    chosen = [verdict.model_copy(update={"outcomes": with_chosen(verdict.outcomes, review)}) for verdict in verdicts]
    writer.rows([row for v in chosen if v.qualifier is Qualifier.OUTCOME for row in v.outcome_rows(candidate_id)])
    uses = [verdict.use for verdict in verdicts if verdict.use is not None]
    writer.rows(cost_rows(candidate_id, Phase.QUALIFY, uses))
    total = aggregate(verdicts, human)
    return PhaseDecision(outcome=total.outcome, reason_code=total.reason_code, message=total.message)


def run(workshop: Workshop, chain: Chain, writer: PhaseWriter) -> PhaseDecision:
    """All four at the same time: what the steps do as runs of their own."""

    async def all_four() -> None:
        with model_run(workshop.settings.models):  # one purse for all four
            await asyncio.gather(*(judge(workshop, writer.key, qualifier) for qualifier in QUALIFIERS))

    asyncio.run(all_four())
    return settle(writer, chain.candidate_id)


def _name(qualifier: Qualifier) -> str:
    return f"verdicts/{qualifier.value}.json"


def _read(writer: PhaseWriter, qualifier: Qualifier) -> Timed:
    return Timed.model_validate_json(writer.store.get(writer.key.prefix + _name(qualifier)))


def _could_not_look(fault: str) -> Judgement:
    return Judgement(
        decision=Decision.UNSURE, reason_code=ReasonCode.REPOSITORY_UNREACHABLE, confidence=1.0, message=fault
    )


def _config(settings: Settings) -> Config:
    made = {
        "models": names_of(settings.qualify, settings.models),
        "tables": digest_of_tables(benchmarks=settings.qualify.known_benchmarks),
    }
    shared = {name: getattr(settings.qualify, name) for name in Config.model_fields if name not in made}
    return Config.model_validate({**made, **shared})


def _read_from(settings: Settings, chain: Chain) -> ReadFrom | None:
    if not settings.mirrors:
        return None
    source = MirrorMap(settings.mirrors).digest(chain.candidate().repository)
    return None if source is None else ReadFrom(source=source)


QUALIFY = PhaseDefinition(Phase.QUALIFY, VERSION, _config, run, _read_from)
