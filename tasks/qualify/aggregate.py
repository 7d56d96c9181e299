"""Puts the verdicts together: all pass, any fails, or a person has to look."""

from collections.abc import Callable, Mapping, Sequence

from blocks.records import Decision, Outcome, Qualifier, ReasonCode, Record
from blocks.repositories import Repository
from blocks.session import Session
from blocks.settings import QualifySettings
from tasks.qualify.disqualify import qualify_disqualifier
from tasks.qualify.journey import qualify_journey
from tasks.qualify.origin import qualify_origin
from tasks.qualify.outcome import qualify_outcome
from tasks.qualify.start import placed
from tasks.qualify.surroundings import ALONE, Surroundings
from tasks.qualify.verdict import Verdict

Qualify = Callable[[Session, Repository, QualifySettings, Surroundings], Verdict]


def _placed(qualify: Qualify) -> Qualify:
    """The qualifier, asked about a commit that can be had."""
    return lambda session, repository, settings, around: qualify(
        placed(session, repository), repository, settings, around
    )


QUALIFIERS: Mapping[Qualifier, Qualify] = {
    Qualifier.ORIGIN: qualify_origin,
    Qualifier.JOURNEY: _placed(qualify_journey),
    Qualifier.OUTCOME: _placed(qualify_outcome),
    Qualifier.DISQUALIFIER: _placed(qualify_disqualifier),
}
"""Every qualifier, in the order in which their reasons are told. None needs another's verdict."""


class Aggregate(Record):
    """How the phase ends. The reason code is that of the first qualifier that speaks against; the message names all."""

    outcome: Outcome
    reason_code: ReasonCode
    message: str


def qualify(
    session: Session, repository: Repository, settings: QualifySettings, around: Surroundings = ALONE
) -> list[Verdict]:
    """All four verdicts, one after the other."""
    return [judge(session, repository, settings, around) for judge in QUALIFIERS.values()]


def aggregate(verdicts: Sequence[Verdict], human: Sequence[Verdict] = ()) -> Aggregate:
    """Rejected where any failed, review where any is unsure, else passed; a human's verdict stands for the one it answers.

    Raises:
        ValueError: a qualifier's verdict is missing, or there is more than one of it.
    """
    if sorted(verdict.qualifier for verdict in verdicts) != sorted(QUALIFIERS):
        raise ValueError(f"verdicts of {[verdict.qualifier.value for verdict in verdicts]}, not one of each qualifier")
    answers = {verdict.qualifier: verdict for verdict in human}
    verdicts = [answers.get(verdict.qualifier, verdict) for verdict in verdicts]
    ordered = sorted(verdicts, key=lambda verdict: list(QUALIFIERS).index(verdict.qualifier))
    for decision, outcome in ((Decision.FAIL, Outcome.REJECTED), (Decision.UNSURE, Outcome.REVIEW)):
        against = [verdict for verdict in ordered if verdict.decision is decision]
        if against:
            told = "; ".join(f"{verdict.qualifier} {verdict.reason_code}: {verdict.message}" for verdict in against)
            return Aggregate(outcome=outcome, reason_code=against[0].reason_code, message=told)
    told = "; ".join(f"{verdict.qualifier}: {verdict.message}" for verdict in ordered)
    return Aggregate(outcome=Outcome.PASSED, reason_code=ReasonCode.OK, message=told)
