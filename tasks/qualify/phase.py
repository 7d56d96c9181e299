"""Qualify as a phase: one verdict per qualifier, each on its own; then they are put together and committed."""

import time

from blocks.chain import Chain
from blocks.lake import PhaseWriter
from blocks.phases import Decision as PhaseDecision
from blocks.phases import PhaseDefinition
from blocks.records import Decision, Phase, Qualifier, ReasonCode, Record
from blocks.repositories import MirrorMap, RepositoryUnreachableError
from blocks.session import Session
from blocks.settings import Settings
from blocks.start import START
from blocks.workshop import Workshop
from tasks.qualify.aggregate import QUALIFIERS, aggregate
from tasks.qualify.origin import unreachable
from tasks.qualify.verdict import Judgement, Verdict, reach

VERSION = 2


class Config(Record):
    """Settings that change a verdict."""

    provider: str
    licences: tuple[str, ...]
    licence_gate: bool
    window_days: int
    max_changed_lines: int


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


def judge(workshop: Workshop, chain: Chain, qualifier: Qualifier) -> Timed:
    """One qualifier's verdict. A repository that cannot be reached fails at origin and leaves the others unsure.

    Raises:
        TransientError: the repository's source did not answer this time.
    """
    started = time.monotonic()
    session = chain.record(Phase.INGEST, "session.json", Session)
    settings = workshop.settings.qualify
    try:
        verdict = QUALIFIERS[qualifier](
            session, workshop.mirrors.open(session.repository, commit=session.start_commit), settings
        )
    except RepositoryUnreachableError as error:
        if qualifier is Qualifier.ORIGIN:
            verdict = unreachable(error, settings)
        else:
            evidence = NoRepository(repository=session.repository, fault=str(error))
            verdict = reach(qualifier, evidence, lambda: _could_not_look(evidence.fault), settings)
    return Timed(verdict=verdict, seconds=time.monotonic() - started)


def settle(writer: PhaseWriter, candidate_id: str, timed: list[Timed]) -> PhaseDecision:
    """Put the verdicts together; write their rows, and where the candidate starts."""
    verdicts = [one.verdict for one in timed]
    for start in (verdict.start for verdict in verdicts if verdict.start is not None):
        writer.record(START, start)
    writer.rows([one.verdict.row(candidate_id, one.seconds) for one in timed])
    writer.rows([row for verdict in verdicts for row in verdict.requirement_rows(candidate_id)])
    writer.rows([row for verdict in verdicts for row in verdict.outcome_rows(candidate_id)])
    total = aggregate(verdicts)
    return PhaseDecision(outcome=total.outcome, reason_code=total.reason_code, message=total.message)


def run(workshop: Workshop, chain: Chain, writer: PhaseWriter) -> PhaseDecision:
    """All four, one after the other: what the steps do side by side."""
    return settle(writer, chain.candidate_id, [judge(workshop, chain, qualifier) for qualifier in QUALIFIERS])


def _could_not_look(fault: str) -> Judgement:
    return Judgement(
        decision=Decision.UNSURE, reason_code=ReasonCode.REPOSITORY_UNREACHABLE, confidence=1.0, message=fault
    )


def _config(settings: Settings) -> Config:
    return Config(**{name: getattr(settings.qualify, name) for name in Config.model_fields})


def _read_from(settings: Settings, chain: Chain) -> ReadFrom | None:
    if not settings.mirrors:
        return None
    source = MirrorMap(settings.mirrors).digest(chain.candidate().repository)
    return None if source is None else ReadFrom(source=source)


QUALIFY = PhaseDefinition(Phase.QUALIFY, VERSION, _config, run, _read_from)
