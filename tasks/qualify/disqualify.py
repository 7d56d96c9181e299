"""Disqualifier: is there a reason not to make an environment of this, however well the rest fits?"""

from blocks.records import Decision, Qualifier, ReasonCode, Record
from blocks.repositories import Repository
from blocks.session import Session
from blocks.settings import QualifySettings
from tasks.qualify.outcome import MIN_STRENGTH
from tasks.qualify.ranking import Ranked, rank_outcomes
from tasks.qualify.steering import Steering, find_steering
from tasks.qualify.substance import Substance, read_substance
from tasks.qualify.verdict import Judgement, Verdict, reach

MIN_SOURCE_LINES = 3
"""Fewer changed source lines are trivial, unless a test came with them: many a hard bug is mended in one line."""
NOT_SOURCE_LEAD = 1.25
"""So far ahead of every source change, a change of documentation or configuration is what settled the problem."""


class DisqualifierEvidence(Record):
    """What was looked at."""

    steering: Steering
    outcome: str | None
    """The commit whose substance was read: the best one that changes source."""
    substance: Substance | None
    not_source: str | None
    """A commit without source that explains the session better than any with source."""
    max_changed_lines: int


def qualify_disqualifier(session: Session, repository: Repository, settings: QualifySettings) -> Verdict:
    """Collect the evidence and have it judged."""
    evidence = collect(session, repository, settings)
    return reach(Qualifier.DISQUALIFIER, evidence, lambda: decide(evidence))


def collect(session: Session, repository: Repository, settings: QualifySettings) -> DisqualifierEvidence:
    """The evidence. Where no commit is plausible there is no substance: that is the outcome qualifier's finding."""
    ranked = [item for item in rank_outcomes(session, repository, settings) if item.evidence.strength >= MIN_STRENGTH]
    best = next((item for item in ranked if item.evidence.source), None)
    other = next((item for item in ranked if not item.evidence.source), None)
    return DisqualifierEvidence(
        steering=find_steering(session),
        outcome=best.commit if best else None,
        substance=read_substance(repository, best.commit) if best else None,
        not_source=other.commit if other and _leads(other, best) else None,
        max_changed_lines=settings.max_changed_lines,
    )


def decide(evidence: DisqualifierEvidence) -> Judgement:
    """The first rule that speaks."""
    steering = evidence.steering
    if steering.direct:
        return _judge(
            Decision.FAIL, ReasonCode.STEERING_TEXT, f"the user's text speaks to a judge ({steering.direct[0]})"
        )
    if evidence.not_source is not None:
        told = f"{evidence.not_source[:10]} explains the session best and changes no source"
        return _judge(Decision.FAIL, ReasonCode.CHANGE_NOT_SOURCE, told)
    fault = _fault(evidence.substance, evidence.max_changed_lines) if evidence.substance else None
    if fault is not None:
        return fault
    doubts = (*steering.override, *steering.shown)
    if doubts:
        told = f"text in the session may be meant for a judge ({doubts[0]})"
        return _judge(Decision.UNSURE, ReasonCode.STEERING_TEXT, told)
    return _judge(Decision.PASS, ReasonCode.OK, "no reason against it was found")


def _leads(other: Ranked, best: Ranked | None) -> bool:
    return best is None or other.score >= NOT_SOURCE_LEAD * best.score


def _fault(substance: Substance, most: int) -> Judgement | None:
    if substance.all_lines > most:
        told = f"the outcome changes {substance.all_lines} lines, more than qualify.max_changed_lines = {most}"
        return _judge(Decision.FAIL, ReasonCode.CHANGE_TOO_LARGE, told)
    if substance.formatting_only:
        return _judge(Decision.FAIL, ReasonCode.CHANGE_TRIVIAL, "the outcome changes only how source is written")
    if substance.version_only:
        return _judge(Decision.FAIL, ReasonCode.CHANGE_TRIVIAL, "the outcome changes only a version")
    if substance.source_lines < MIN_SOURCE_LINES and not substance.touches_tests:
        told = f"the outcome changes {substance.source_lines} lines of source and no test"
        return _judge(Decision.FAIL, ReasonCode.CHANGE_TRIVIAL, told)
    return None


def _judge(decision: Decision, code: ReasonCode, message: str) -> Judgement:
    sure = 0.5 if decision is Decision.UNSURE else 0.9
    return Judgement(decision=decision, reason_code=code, confidence=sure, message=message)
