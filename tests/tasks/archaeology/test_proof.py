"""What counts as seen failing and passing, from the vectors of several runs."""

from blocks.vectors import TestResult, TestStatus, TestVector, compare_states
from tasks.archaeology.proof import Proof, spliced

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
