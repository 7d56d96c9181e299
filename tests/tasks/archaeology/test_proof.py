"""What counts as seen failing and passing, from the vectors of several runs."""

from collections.abc import Iterator
from typing import cast

import pytest

from blocks.engine import Engine
from blocks.lake import ObjectStore
from blocks.recipe import Recipe
from blocks.settings import GateSettings, Settings
from blocks.vectors import TestResult, TestStatus, TestVector, compare_states
from tasks.archaeology import proof
from tasks.archaeology.proof import CHEAP_SEC, Proof, prove, spliced
from tasks.archaeology.rebuild import StateRun
from tasks.archaeology.stack import Bench, Planned
from tasks.archaeology.states import States
from tasks.archaeology.trial import Trial

HIDDEN = ["tests/test_now.py"]


def vector(**tests: str) -> TestVector:
    names = {name.replace("__", "::"): TestResult(status=TestStatus(status)) for name, status in tests.items()}
    return TestVector(results={f"tests/test_{name}": result for name, result in names.items()}, complete=True)


def at(time: str, *, solved: bool) -> dict[str, TestResult]:
    """A test whose id holds the time of day, another that the outcome mends."""
    status = TestStatus.PASSED if solved else TestStatus.FAILED
    return {
        f"tests/test_now.py::test_x[{time} 2026-11-30]": TestResult(status=TestStatus.PASSED),
        "tests/test_now.py::test_mended": TestResult(status=status),
    }


def test_an_id_with_the_time_of_day_counts_as_nothing() -> None:
    """As marshmallow's: with one run of each state such a test is absent before and passes after."""
    rest = {"tests/test_rest.py::test_a": TestResult(status=TestStatus.PASSED)}
    before, after = (
        TestVector(results={**at(time, solved=solved), **rest}, complete=True)
        for time, solved in (("19:30:27", False), ("19:31:02", True))
    )
    once = compare_states([before], [after]).fail_to_pass
    assert any("19:31:02" in test for test in once), "what one run makes of it"
    again = [
        spliced(known, TestVector(results=at(time, solved=solved), complete=True), HIDDEN)
        for known, time, solved in ((before, "19:40:00", False), (after, "19:41:00", True))
    ]
    proof = Proof((before, again[0]), (after, again[1]))
    assert proof.comparison.fail_to_pass == ("tests/test_now.py::test_mended",)
    assert proof.comparison.pass_to_pass == ("tests/test_rest.py::test_a",), "what ran once stays as it was"
    assert proof.comparison.pass_to_fail == ()
    assert len(proof.deviating) == 4 and all("test_x[" in test for test in proof.deviating)


def test_what_the_outcome_broke_is_recorded() -> None:
    before = vector(a="passed", b="failed", c="passed", d="skipped")
    after = vector(a="passed", b="passed", c="failed", d="passed")
    found = compare_states([before, before], [after, after])
    assert (found.fail_to_pass, found.pass_to_pass, found.pass_to_fail) == (
        ("tests/test_b", "tests/test_d"),
        ("tests/test_a",),
        ("tests/test_c",),
    )


RECIPE = Recipe(stack="python", runtime="3.11", as_of="2025-01-01T00:00:00Z")
STATES = States(start={}, solution={}, hidden={}, removed_tests=(), carried=True)
BROKEN, ENDED = TestVector(results={}, complete=False), TestVector(results={}, complete=True)


def proved(monkeypatch: pytest.MonkeyPatch, seconds: float, *vectors: TestVector | None, repeats: int = 2) -> Proof:
    """The trial took `seconds` and ended; S1, then what was asked for further, gave these."""
    left: Iterator[TestVector | None] = iter(vectors)

    def scripted(*_: object, **__: object) -> StateRun:
        return StateRun(next(left), RECIPE, (), seconds=seconds)

    monkeypatch.setattr(proof, "test_state", scripted)
    settings = Settings(gates=GateSettings(repeats=repeats))
    bench = Bench(cast(Engine, None), cast(ObjectStore, None), settings, "c-0")
    trial = Trial(cast(Planned, None), RECIPE, run=StateRun(ENDED, RECIPE, (), seconds=seconds))
    done = prove(bench, trial, STATES)
    assert next(left, "none") == "none", "every run was asked for"
    return done


def test_a_second_run_that_does_not_end_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is not its own second."""
    found = proved(monkeypatch, CHEAP_SEC, ENDED, BROKEN, None)
    assert (found.before, found.after) == ((ENDED,), (ENDED,))
    assert [(row.symptom.partition(":")[0], row.resolved) for row in found.obstacles] == [
        ("the start could not be run a second time", False),
        ("the solution could not be run a second time", False),
    ]


def test_further_runs_of_a_short_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    found = proved(monkeypatch, 1.0, ENDED, ENDED, ENDED, None, BROKEN, repeats=3)
    assert (len(found.before), len(found.after)) == (3, 2)
    assert [row.symptom for row in found.obstacles] == [
        "the solution could not be run a second time: 2 of 2 further runs did not come to their end"
    ]
    assert proved(monkeypatch, CHEAP_SEC, ENDED, ENDED, ENDED).obstacles == ()
