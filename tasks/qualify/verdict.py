"""A qualifier's decision with its evidence, and the rows it gives to the catalog."""

from collections.abc import Callable

from blocks.llm import Question, judge_for
from blocks.records import Decision, OutcomeRow, Qualifier, ReasonCode, Record, RequirementRow, VerdictRow
from blocks.settings import QualifySettings
from blocks.start import Start


class Judgement(Record):
    """What a judge answers. `message` is one sentence for people."""

    decision: Decision
    reason_code: ReasonCode
    confidence: float
    message: str


class Requirement(Record):
    """Something the user asked for: a verbatim quote from a user step."""

    quote: str
    turn: int
    kind: str


class RankedOutcome(Record):
    """A commit that may have settled the user's problem. Scores are 0..1; `evidence` is a JSON document."""

    commit: str
    score: float
    overlap: float
    touches_tests: bool
    evidence: str


class Verdict(Record):
    """One qualifier's decision on one candidate, not yet tied to a candidate id."""

    qualifier: Qualifier
    decision: Decision
    reason_code: ReasonCode
    confidence: float
    message: str
    judge: str
    model: str | None
    cost_usd: float
    evidence: str
    requirements: tuple[Requirement, ...] = ()
    outcomes: tuple[RankedOutcome, ...] = ()
    start: Start | None = None
    """Of origin: where the candidate starts; None where it cannot start."""

    def row(self, candidate_id: str, seconds: float) -> VerdictRow:
        """The row of `verdicts`."""
        return VerdictRow(
            candidate_id=candidate_id,
            qualifier=self.qualifier,
            decision=self.decision,
            reason_code=self.reason_code,
            confidence=self.confidence,
            judge=self.judge,
            model=self.model,
            evidence=self.evidence,
            cost_usd=self.cost_usd,
            seconds=seconds,
        )

    def requirement_rows(self, candidate_id: str) -> list[RequirementRow]:
        """The rows of `requirements`; items count from 1."""
        return [
            RequirementRow(candidate_id=candidate_id, item=item, quote=found.quote, turn=found.turn, kind=found.kind)
            for item, found in enumerate(self.requirements, start=1)
        ]

    def outcome_rows(self, candidate_id: str) -> list[OutcomeRow]:
        """The rows of `outcomes`; ranks count from 1."""
        return [
            OutcomeRow(candidate_id=candidate_id, rank=rank, **found.model_dump())
            for rank, found in enumerate(self.outcomes, start=1)
        ]


def reach(
    qualifier: Qualifier,
    evidence: Record,
    rule: Callable[[], Judgement],
    settings: QualifySettings,
    *,
    requirements: tuple[Requirement, ...] = (),
    outcomes: tuple[RankedOutcome, ...] = (),
    start: Start | None = None,
) -> Verdict:
    """Have the evidence judged.

    Raises:
        UsageError: the settings name a judge that is not there.
    """
    document = evidence.model_dump_json()
    question = Question(
        name=qualifier.value, task=f"Does the candidate pass the {qualifier} qualifier?", evidence=document
    )
    reply = judge_for(settings).ask(question, Judgement, rule)
    return Verdict(
        qualifier=qualifier,
        judge=reply.judge,
        model=reply.model,
        cost_usd=reply.cost_usd,
        evidence=document,
        requirements=requirements,
        outcomes=outcomes,
        start=start,
        **dict(reply.answer),
    )
