"""A person's decision on a candidate that the qualifiers left open: one immutable object each, taken in by aggregation.

They are `candidates/<id>/reviews/<n>.json`, n from 1; the last one counts. Deciding also asks for a retry of qualify, so that
its input key is another and the chain goes on. A review answers the doubts it names, of the judges it saw: where a later run
has other doubts, those stay open. It does not turn a `fail` into a pass.
"""

from collections.abc import Sequence
from datetime import datetime

from pydantic import ValidationError

from blocks.errors import PermanentError
from blocks.lake import ObjectStore
from blocks.records import Decision, Qualifier, ReasonCode, Record
from tasks.qualify.verdict import RankedOutcome, Verdict

JUDGE = "human"


class Answer(Record):
    """What the person says to one qualifier's doubt."""

    qualifier: Qualifier
    doubt: ReasonCode
    """The reason code the person saw."""


class Review(Record):
    """One decision of a person."""

    schema_version: int = 1
    candidate_id: str
    decision: Decision
    """`pass` or `fail`."""
    answers: tuple[Answer, ...]
    """Every doubt that was open."""
    because: str
    by: str
    """As the person calls themselves."""
    outcome: str | None = None
    """The commit that settled it, where the person says which."""
    decided_at: datetime


class HumanEvidence(Record):
    """Evidence of a human's verdict."""

    because: str
    by: str
    decided_at: datetime
    doubt: ReasonCode
    outcome: str | None


def record_review(store: ObjectStore, review: Review) -> int:
    """Keep the review and return its number. One that says the same as the last one is not kept twice."""
    number, last = _last(store, review.candidate_id)
    if last is not None and last.model_copy(update={"decided_at": review.decided_at}) == review:
        return number
    while True:
        number += 1
        if store.put_if_absent(_key(review.candidate_id, number), review.model_dump_json(indent=1).encode()):
            return number


def latest_review(store: ObjectStore, candidate_id: str) -> Review | None:
    """The last review; None where nobody decided.

    Raises:
        PermanentError: what lies there is no review this version can read.
    """
    return _last(store, candidate_id)[1]


def human_verdicts(verdicts: Sequence[Verdict], review: Review | None) -> tuple[Verdict, ...]:
    """The verdicts of the person, one per doubt that is still the one they answered."""
    if review is None:
        return ()
    answered = {(answer.qualifier, answer.doubt) for answer in review.answers}
    return tuple(
        _human(verdict, review)
        for verdict in verdicts
        if verdict.decision is Decision.UNSURE and (verdict.qualifier, verdict.reason_code) in answered
    )


def with_chosen(outcomes: Sequence[RankedOutcome], review: Review | None) -> tuple[RankedOutcome, ...]:
    """The ranked outcomes, with the person's choice first."""
    if review is None or review.outcome is None or review.decision is not Decision.PASS:
        return tuple(outcomes)
    known = next((one for one in outcomes if one.commit == review.outcome), None)
    chosen = known or RankedOutcome(
        commit=review.outcome, score=0.0, overlap=0.0, touches_tests=False, evidence='{"chosen_by": "human"}'
    )
    return (chosen, *(one for one in outcomes if one.commit != review.outcome))


def _human(verdict: Verdict, review: Review) -> Verdict:
    evidence = HumanEvidence(
        because=review.because,
        by=review.by,
        decided_at=review.decided_at,
        doubt=verdict.reason_code,
        outcome=review.outcome,
    )
    passed = review.decision is Decision.PASS
    return Verdict(
        qualifier=verdict.qualifier,
        decision=review.decision,
        reason_code=ReasonCode.OK if passed else ReasonCode.REVIEWED_OUT,
        confidence=1.0,
        message=f"{review.by}: {review.because}",
        judge=JUDGE,
        model=None,
        cost_usd=0.0,
        evidence=evidence.model_dump_json(),
    )


def _last(store: ObjectStore, candidate_id: str) -> tuple[int, Review | None]:
    folder = _key(candidate_id, 0).rpartition("/")[0] + "/"
    names = (info.key.removeprefix(folder).removesuffix(".json") for info in store.list(folder))
    number = max((int(name) for name in names if name.isdecimal()), default=0)
    if number == 0:
        return 0, None
    key = _key(candidate_id, number)
    try:
        return number, Review.model_validate_json(store.get(key))
    except ValidationError:
        fault = "is not a review this version can read; decide again with `envmill review decide`, or remove it"
        raise PermanentError(f"{store.uri(key)} {fault}") from None


def _key(candidate_id: str, number: int) -> str:
    return f"candidates/{candidate_id}/reviews/{number}.json"
