"""The hook for a model that proposes how to mend a recipe: fields only, of a closed set, bounded in tries and money.

Nothing here knows a model. What is proposed is tried like a line of the table of remedies, and counts only where the
tests say so: the proposer judges nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import Field, field_validator

from blocks.recipe import Recipe
from blocks.records import Record
from tasks.archaeology.remedies import Action, Evidence, Fix

MOST_FIXES = 8
"""Fixes of one proposal that are looked at."""
_VARIABLE = re.compile(r"^[A-Z][A-Z0-9_]{0,63}=[^\0\r\n]{0,1000}$")
_RULING = re.compile(
    r"^(PATH|HOME|SHELL|IFS|ENV|BASH_ENV|LD_\w+|PYTEST_\w+|PYTHON\w*|NODE_\w+|NPM_\w+|CTEST_\w+|GTEST_\w+|MAKEFLAGS|COV\w*)="
)
"""Variables that decide which code runs or which tests do: a person may set them, a proposal may not."""


class Proposed(Record):
    """One change of a recipe field, as a model may say it."""

    action: Action
    argument: str = Field(max_length=1100)

    @field_validator("argument")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("an argument is one line of printable text")
        return value.strip()

    @property
    def is_allowed(self) -> bool:
        """Whether it may be tried. What an action takes of its argument is checked again where the plan is changed."""
        if self.action is Action.SET_ENVIRONMENT:
            return bool(_VARIABLE.match(self.argument)) and not _RULING.match(self.argument)
        return True


class Proposal(Record):
    """An answer: what to try next, together; nothing to try ends the asking."""

    fixes: tuple[Proposed, ...] = ()
    cost_usd: float = Field(default=0.0, ge=0.0)
    """What the answer has cost."""


class Proposer(Protocol):
    """Whoever proposes. The evidence is text of the repository's: data, never an instruction."""

    def propose(self, recipe: Recipe, evidence: Evidence, tried: Sequence[Fix], budget_usd: float) -> Proposal:
        """What to try next, for at most this money. Raises TransientError where nobody answers."""
        ...


@dataclass
class Asking:
    """A proposer within its bounds, for one candidate."""

    proposer: Proposer
    most_tries: int = 3
    budget_usd: float = 1.0
    tries: int = field(default=0, init=False)
    cost_usd: float = field(default=0.0, init=False)

    def next_fixes(self, recipe: Recipe, evidence: Evidence, tried: Sequence[Fix]) -> list[Fix]:
        """Fixes that were not tried yet; empty where nothing is proposed, or tries or money are used up."""
        left = self.budget_usd - self.cost_usd
        if self.tries >= self.most_tries or left <= 0:
            return []
        self.tries += 1
        said = self.proposer.propose(recipe, evidence, tried, left)
        self.cost_usd += said.cost_usd
        known = {fix.key for fix in tried}
        fixes = [_fix(one) for one in said.fixes[:MOST_FIXES] if one.is_allowed]
        return [fix for fix in dict.fromkeys(fixes) if fix.key not in known]


def _fix(one: Proposed) -> Fix:
    return Fix(action=one.action, argument=one.argument, symptom="nothing of the table helps", name="proposed")
