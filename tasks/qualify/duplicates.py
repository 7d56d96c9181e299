"""Whether an earlier candidate is the same: the same session, the same words, or another report of what one commit settled."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from blocks.records import Record
from blocks.session import Session
from tasks.qualify.surroundings import Neighbour
from tasks.qualify.words import identifiers, words

SAME_WORDS = 0.9
"""Share of words in common from which two prompts are one; fewer differ in a name or a greeting."""
AKIN = 0.1
"""From here on two prompts may be about one problem; then their outcomes are compared."""
_MIN_WORDS = 4
_MAX_COMPARED = 8


class Likeness(StrEnum):
    """In which way."""

    SESSION = "session"
    """The same conversation, handed in twice."""
    PROMPT = "prompt"
    """The same words about the same start."""
    OUTCOME = "outcome"
    """Other words, and the same commit settles both."""


class Duplicate(Record):
    """The earlier candidate, and in which way it is the same."""

    candidate_id: str
    likeness: Likeness
    shared: float
    """Share of words in common, 0..1."""


def find_duplicate(
    session: Session, neighbours: Sequence[Neighbour], outcome: str | None, outcome_of: Callable[[Session], str | None]
) -> Duplicate | None:
    """The first earlier candidate that is the same; `outcome_of` finds the best outcome of another session."""
    akin: list[tuple[float, Neighbour]] = []
    for other in neighbours:
        shared = _shared(session.prompt, other.session.prompt)
        if _same_conversation(session, other.session):
            return Duplicate(candidate_id=other.candidate_id, likeness=Likeness.SESSION, shared=shared)
        if shared >= SAME_WORDS and other.session.start_commit == session.start_commit:
            return Duplicate(candidate_id=other.candidate_id, likeness=Likeness.PROMPT, shared=shared)
        if shared >= AKIN:
            akin.append((shared, other))
    if outcome is None:
        return None
    for shared, other in sorted(akin, key=lambda pair: -pair[0])[:_MAX_COMPARED]:
        if outcome_of(other.session) == outcome:
            return Duplicate(candidate_id=other.candidate_id, likeness=Likeness.OUTCOME, shared=shared)
    return None


def _same_conversation(one: Session, other: Session) -> bool:
    if one.source != other.source or not one.prompt.strip():
        return False
    return (
        [step.text for step in one.steps] == [step.text for step in other.steps]
        and one.edits == other.edits
        and (one.source != "prompt" or one.start_commit == other.start_commit)
    )


def _shared(one: str, other: str) -> float:
    if " ".join(one.split()).casefold() == " ".join(other.split()).casefold():
        return 1.0
    mine, theirs = words(one) | identifiers(one), words(other) | identifiers(other)
    if min(len(mine), len(theirs)) < _MIN_WORDS:
        return 0.0
    return round(len(mine & theirs) / len(mine | theirs), 3)
