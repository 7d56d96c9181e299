"""The hook for a model: what it may say, how often, for how much; by a scripted proposer."""

from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from blocks.recipe import Recipe
from tasks.archaeology.proposals import MOST_FIXES, Asking, Proposal, Proposed
from tasks.archaeology.remedies import Action, Evidence, Fix

RECIPE = Recipe(stack="python", runtime="3.11", as_of="2025-01-01T00:00:00Z")


class Script:
    def __init__(self, answers: Sequence[Proposal]) -> None:
        self.answers = list(answers)
        self.budgets: list[float] = []

    def propose(self, recipe: Recipe, evidence: Evidence, tried: Sequence[Fix], budget_usd: float) -> Proposal:
        self.budgets.append(round(budget_usd, 2))
        return self.answers.pop(0)


def adds(*names: str, cost: float = 0.0) -> Proposal:
    return Proposal(
        fixes=tuple(Proposed(action=Action.ADD_REQUIREMENT, argument=name) for name in names), cost_usd=cost
    )


def test_tries_and_money_are_bounded() -> None:
    script = Script([adds("a", cost=0.4), adds("b", cost=0.7), adds("c")])
    asking = Asking(script, most_tries=5, budget_usd=1.0)
    rounds = [[fix.argument for fix in asking.next_fixes(RECIPE, Evidence(), ())] for _ in range(3)]
    assert (rounds, script.budgets, round(asking.cost_usd, 2)) == ([["a"], ["b"], []], [1.0, 0.6], 1.1)
    free = Script([adds(str(number)) for number in range(9)])
    asking = Asking(free, most_tries=2)
    assert [len(asking.next_fixes(RECIPE, Evidence(), ())) for _ in range(4)] == [1, 1, 0, 0]


def test_nothing_twice_and_not_everything_at_once() -> None:
    known = Fix(action=Action.ADD_REQUIREMENT, argument="b", symptom="", name="the table's")
    asking = Asking(Script([adds("a", "b", "a", *(f"x{number}" for number in range(50)))]))
    found = [fix.argument for fix in asking.next_fixes(RECIPE, Evidence(), (known,))]
    assert found[0] == "a" and found.count("a") == 1 and "b" not in found and len(found) == MOST_FIXES - 2


@pytest.mark.parametrize(
    ("argument", "allowed"),
    [
        ("TZ=UTC", True),
        ("KETTLE_ON=a b=c", True),
        ("PYTEST_ADDOPTS=--deselect=tests", False),
        ("PYTHONPATH=/tmp", False),
        ("PATH=/tmp", False),
        ("LD_PRELOAD=/tmp/x.so", False),
        ("NODE_OPTIONS=--require=x", False),
        ("GTEST_FILTER=-*", False),
        ("lower=1", False),
        ("NO_VALUE", False),
    ],
)
def test_what_decides_which_tests_run_is_nobodys_to_propose(argument: str, allowed: bool) -> None:
    proposed = Proposed(action=Action.SET_ENVIRONMENT, argument=argument)
    asking = Asking(Script([Proposal(fixes=(proposed,))]))
    assert bool(asking.next_fixes(RECIPE, Evidence(), ())) is allowed


@pytest.mark.parametrize(
    "said",
    [
        {"fixes": [{"action": "run_shell", "argument": "rm -rf /"}]},
        {"fixes": [{"action": "add_requirement", "argument": "a\nb"}]},
        {"fixes": [{"action": "add_requirement", "argument": " "}]},
        {"fixes": [{"action": "add_requirement", "argument": "x" * 2000}]},
        {"fixes": [], "cost_usd": -1},
        {"fixes": [], "dockerfile": "RUN x"},
    ],
)
def test_anything_but_recipe_fields_is_no_proposal(said: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Proposal.model_validate(said)
