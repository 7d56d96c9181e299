"""The gates against a scripted grader: what is dropped, what is decided, what the card says."""

from collections.abc import Callable, Mapping

import pytest

from blocks.builder.grading import Verdict
from blocks.recipe import Recipe
from blocks.records import ReasonCode
from blocks.settings import GateSettings
from blocks.trees import Tree
from blocks.vectors import StateComparison, TestResult, TestStatus, TestVector
from tasks.synthesis.gates import Card, deviations, measure
from tasks.synthesis.ingredients import Ingredients
from tasks.synthesis.suite import Suite
from tests.trees import tree

FIX, FIX2 = "tests/test_a.py::test_fix", "tests/test_a.py::test_fix2"
OLD, OLD2 = "tests/test_a.py::test_old", "tests/test_b.py::test_old"
START = tree({"m.py": "def a():\n    return 1\n\n\n\n\n\n\ndef b():\n    return 1\n", "tests/test_a.py": "old"})
SOLVED = "def a():\n    return 2\n\n\n\n\n\n\ndef b():\n    return 2\n"
INGREDIENTS = Ingredients(
    start=START,
    change=tree({"m.py": SOLVED}),
    source_paths=("m.py",),
    hidden=tree({"tests/test_a.py": "new"}),
    removed_tests=(),
    test_paths=("tests/test_a.py",),
    open_paths=(),
    recipe=Recipe(stack="python", runtime="3.11", as_of="2025-01-01T00:00:00Z"),
    timeout_sec=60,
)
COMPARED = StateComparison(fail_to_pass=(FIX, FIX2), pass_to_pass=(OLD, OLD2), pass_to_fail=("tests/test_c.py::x",))

Says = Callable[[str, int], Mapping[str, bool]]
"""What each test does in the n-th run of a kind (nop, oracle, hunk), from 1."""


class Grader:
    """Grades as the real one decides: every whitelisted test must pass."""

    def __init__(self, says: Says, *, complete: bool = True) -> None:
        self.says, self.complete = says, complete
        self.counts: dict[str, int] = {}
        self.whitelists: list[tuple[str, ...]] = []

    def __call__(self, suite: Suite, workspace: Tree) -> Verdict:
        source = workspace["m.py"]
        kind = "nop" if source == START["m.py"] else "oracle" if source.content == SOLVED.encode() else "hunk"
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.whitelists.append(suite.spec.whitelist)
        told = self.says(kind, self.counts[kind])
        results = {test: TestResult(status=TestStatus.PASSED if ok else TestStatus.FAILED) for test, ok in told.items()}
        passes = self.complete and all(told.get(test) for test in suite.spec.whitelist)
        return Verdict(float(passes), TestVector(results=results, complete=self.complete), ("test_failed",), 1.0, "")


def honest(kind: str, number: int) -> dict[str, bool]:
    return {FIX: kind == "oracle", FIX2: kind == "oracle", OLD: True, OLD2: True}


def measured(says: Says, compared: StateComparison = COMPARED, **settings: int) -> tuple[Card, Grader]:
    grader = Grader(says)
    return measure(INGREDIENTS, compared, GateSettings(**settings), grader), grader


def test_a_good_verifier() -> None:
    card, grader = measured(honest)
    assert (card.reason_code, card.flips, card.dropped) == (ReasonCode.OK, 0, ())
    assert card.wanted == COMPARED
    assert [run.name for run in card.runs] == [
        *(f"{kind}-{number}" for kind in ("nop", "oracle") for number in (1, 2, 3)),
        "hunk-m.py:2",
        "hunk-m.py:10",
    ]
    assert [noticed for _, noticed in card.hunks] == [True, True]
    assert set(grader.whitelists) == {(FIX, FIX2, OLD, OLD2)}
    assert "tests/test_c.py::x" not in card.suite.spec.whitelist


def test_a_flaky_test_is_dropped_and_the_gates_run_again() -> None:
    def says(kind: str, number: int) -> dict[str, bool]:
        return {**honest(kind, number), OLD2: number != 2, FIX2: kind == "oracle" and number != 3}

    card, grader = measured(says)
    assert card.reason_code is ReasonCode.OK
    assert set(card.dropped) == {OLD2, FIX2}
    assert card.suite.spec.whitelist == (FIX, OLD) == (*card.wanted.fail_to_pass, *card.wanted.pass_to_pass)
    assert grader.counts == {"nop": 6, "oracle": 6, "hunk": 2}
    assert [run.name for run in card.runs][:2] == ["nop-1", "nop-2"], "runs of the first round are not on the card"
    assert card.flips == 0


def test_a_test_that_passes_without_the_solution_is_dropped() -> None:
    card, _ = measured(lambda kind, number: {**honest(kind, number), FIX2: True})
    assert (card.reason_code, card.dropped, card.wanted.fail_to_pass) == (ReasonCode.OK, (FIX2,), (FIX,))


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (lambda kind, number: {FIX: True, FIX2: True, OLD: True, OLD2: True}, ReasonCode.NOP_PASSES),
        (lambda kind, number: {FIX: False, FIX2: False, OLD: True, OLD2: True}, ReasonCode.ORACLE_FAILS),
        (lambda kind, number: {}, ReasonCode.ORACLE_FAILS),
        (
            lambda kind, number: {**honest(kind, number), FIX: number == 2, FIX2: number == 2},
            ReasonCode.TESTS_USED_UP,
        ),
        (lambda kind, number: {**honest(kind, number), OLD: False, OLD2: number != 2}, ReasonCode.REGRESSION_EMPTY),
    ],
    ids=["nop passes", "oracle fails", "nothing is reported", "flaky", "regression"],
)
def test_why_a_verifier_falls(says: Says, reason: ReasonCode) -> None:
    card, grader = measured(says)
    assert card.reason_code is reason
    assert card.message
    assert "hunk" not in grader.counts and card.hunks == ()


def test_no_regression_test_at_all() -> None:
    none = StateComparison(fail_to_pass=(FIX,), pass_to_pass=(), pass_to_fail=())
    assert measured(honest, none)[0].reason_code is ReasonCode.REGRESSION_EMPTY
    assert measured(honest, none, min_pass_to_pass=0)[0].reason_code is ReasonCode.OK


def test_rewards_that_flip_although_the_report_is_cut_off() -> None:
    """Incomplete runs say nothing of single tests, so nothing is dropped; the rewards still tell."""
    whole, cut = Grader(honest), Grader(honest, complete=False)

    def grade(suite: Suite, workspace: Tree) -> Verdict:
        return (cut if sum(whole.counts.values()) == 4 and not cut.counts else whole)(suite, workspace)

    card = measure(INGREDIENTS, COMPARED, GateSettings(), grade)
    assert (card.dropped, card.flips, card.reason_code) == ((), 1, ReasonCode.ORACLE_FAILS)


def test_the_suite_never_asks_for_more_than_the_card_says() -> None:
    """Each round another test breaks its promise: after the last round the verifier is flaky, not admitted."""
    tests = tuple(f"tests/test_a.py::t{number}" for number in range(6))
    compared = StateComparison(fail_to_pass=(FIX, *tests), pass_to_pass=(OLD,), pass_to_fail=())

    def says(kind: str, number: int) -> dict[str, bool]:
        round_number = (number - 1) // 3
        early = {test: kind == "oracle" or place == round_number for place, test in enumerate(tests)}
        return {FIX: kind == "oracle", OLD: True, **early}

    card, grader = measured(says, compared)
    assert card.reason_code is ReasonCode.VERIFIER_FLAKY
    assert tests[2] in card.message
    assert grader.counts == {"nop": 9, "oracle": 9}


def test_a_test_that_deviates_but_is_not_needed_to_pass_counts_as_a_flip() -> None:
    """A fail-to-pass test that is absent in one nop run and failed in the others keeps its promise, and deviates."""

    def says(kind: str, number: int) -> dict[str, bool]:
        told = honest(kind, number)
        if kind == "nop" and number == 2:
            del told[FIX]
        return told

    card, _ = measured(says)
    assert (card.reason_code, card.flips, card.dropped) == (ReasonCode.VERIFIER_FLAKY, 1, ())
    assert [run.deviations for run in card.runs] == [(), (FIX,), (), (), (), ()]


def test_hunks_nobody_notices() -> None:
    card, _ = measured(
        lambda kind, number: {
            **honest(kind, number),
            **({FIX: True, FIX2: True} if number == 1 and kind == "hunk" else {}),
        }
    )
    assert card.reason_code is ReasonCode.OK
    assert [(hunk.name, noticed) for hunk, noticed in card.hunks] == [("m.py:2", False), ("m.py:10", True)]


def test_no_more_hunks_than_the_settings_say() -> None:
    card, grader = measured(honest, max_hunks=1, repeats=1)
    assert len(card.hunks) == 1
    assert grader.counts == {"nop": 1, "oracle": 1, "hunk": 1}


def test_deviations() -> None:
    def vector(**results: TestStatus) -> TestVector:
        return TestVector(results={name: TestResult(status=status) for name, status in results.items()}, complete=True)

    first = vector(a=TestStatus.PASSED, b=TestStatus.FAILED, c=TestStatus.PASSED, d=TestStatus.FAILED)
    later = vector(a=TestStatus.PASSED, b=TestStatus.SKIPPED, d=TestStatus.FAILED)
    assert deviations(first, later, ("a", "b", "c", "d", "never")) == ("b", "c")
