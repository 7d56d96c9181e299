"""A qualifier's decision with its evidence, and the rows it gives to the catalog."""

from collections.abc import Callable

from blocks.llm import Spent
from blocks.records import (
    Decision,
    OutcomeRow,
    Qualifier,
    ReasonCode,
    Record,
    RequirementRow,
    VerdictRow,
)
from blocks.start import Start


class Judgement(Record):
    """What a judge answers. `message` is one sentence for people."""

    decision: Decision
    reason_code: ReasonCode
    confidence: float
    message: str


class Requirement(Record):
    """Something the user asked for: a verbatim quote from a user step, or, with a precedent, a line of the repository.

    The fields are those of RequirementRow.
    """

    quote: str
    turn: int
    kind: str
    surface: str | None = None
    positive: str | None = None
    negative: str | None = None
    precedent: str | None = None
    added: bool = False


class Addition(Record):
    """What a later turn made necessary, verbatim, and the step it is from."""

    text: str
    turn: int


class Instruction(Record):
    """What the user wanted: the first message, and what only later turns made necessary."""

    verbatim: str
    additions: tuple[Addition, ...] = ()

    @property
    def specified(self) -> str:
        """Both as one text; each addition is marked with its step."""
        added = "".join(f"\n- [turn {one.turn}] {one.text}" for one in self.additions)
        return f"{self.verbatim.rstrip()}\n\nAdded later:{added}\n" if added else self.verbatim


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
    instruction: Instruction | None = None
    """Of journey."""
    start: Start | None = None
    """Of origin: where the candidate starts; None where it cannot start."""
    use: Spent | None = None
    """None where no model was asked."""
    transcript: str | None = None
    """What was said between us and the model, a JSON array of messages."""

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
            RequirementRow(candidate_id=candidate_id, item=item, **found.model_dump())
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
    *,
    requirements: tuple[Requirement, ...] = (),
    outcomes: tuple[RankedOutcome, ...] = (),
    instruction: Instruction | None = None,
    start: Start | None = None,
) -> Verdict:
    """The verdict of the rule, with its evidence. A model may come after it: see `judging.py`."""
    return Verdict(
        qualifier=qualifier,
        judge="rules",
        model=None,
        cost_usd=0.0,
        evidence=evidence.model_dump_json(),
        requirements=requirements,
        outcomes=outcomes,
        instruction=instruction,
        start=start,
        **dict(rule()),
    )
