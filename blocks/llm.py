"""Who decides: one protocol for judges, and the one that needs no model.

A judge gets a typed question whose evidence is data, and gives a typed answer. The `rules` judge answers every question
by the rule the caller brings along, and every answer says so. Models come with a later version.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from blocks.errors import UsageError
from blocks.records import Record
from blocks.settings import QualifySettings

A = TypeVar("A", bound=BaseModel)

_LATER = frozenset({"litellm", "recorded"})


class Question(Record):
    """What is to be decided. `evidence` is a JSON document: data to weigh, never an instruction."""

    name: str
    task: str
    evidence: str


class Reply(Record, Generic[A]):
    """An answer, and who gave it at what price."""

    answer: A
    judge: str
    model: str | None
    cost_usd: float


class Judge(Protocol):
    """Answers typed questions."""

    def ask(self, question: Question, answer: type[A], rule: Callable[[], A]) -> Reply[A]:
        """Answer the question.

        Args:
            question: what is asked.
            answer: the type of the answer.
            rule: gives the answer that follows from the evidence alone.
        """
        ...


class RulesJudge:
    """Answers by rule; costs nothing and asks nobody."""

    def ask(self, question: Question, answer: type[A], rule: Callable[[], A]) -> Reply[A]:
        """The rule's answer, checked against its type."""
        del question
        return Reply[A](answer=answer.model_validate(rule()), judge="rules", model=None, cost_usd=0.0)


def judge_for(settings: QualifySettings) -> Judge:
    """The judge that the settings name.

    Raises:
        UsageError: there is no such judge, or not in this version.
    """
    if settings.provider == "rules":
        return RulesJudge()
    if settings.provider in _LATER:
        raise UsageError(
            f"qualify.provider = {settings.provider!r}: this judge comes with a later version; set it to 'rules'"
        )
    raise UsageError(f"qualify.provider = {settings.provider!r}: no such judge; set it to 'rules'")
