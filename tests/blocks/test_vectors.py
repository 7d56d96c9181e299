"""Which tests count as proof: by hand."""

from blocks.vectors import TestResult, TestStatus, TestVector, compare_states


def vector(**results: str) -> TestVector:
    return TestVector(
        results={test: TestResult(status=TestStatus(status)) for test, status in results.items()}, complete=True
    )


BEFORE = vector(
    fixed="failed", was_skipped="skipped", kept="passed", broken="passed", never="failed", gone="passed", flaky="passed"
)
AFTER = vector(
    fixed="passed", was_skipped="passed", new="passed", kept="passed", broken="failed", never="failed", flaky="passed"
)


def test_two_states() -> None:
    found = compare_states([BEFORE], [AFTER])
    assert found.fail_to_pass == ("fixed", "new", "was_skipped")
    assert found.pass_to_pass == ("flaky", "kept")
    assert found.pass_to_fail == ("broken", "gone")


def test_only_what_every_run_says_counts() -> None:
    shaky = vector(fixed="passed", kept="passed", broken="passed", flaky="failed")
    found = compare_states([BEFORE, shaky], [AFTER, vector(fixed="passed", kept="passed", new="passed", gone="passed")])
    assert found.fail_to_pass == ("new",), "`fixed` passed before once"
    assert found.pass_to_pass == ("kept",)
    assert found.pass_to_fail == ("broken",), "`gone` passed after once"


def test_nothing_in_common() -> None:
    found = compare_states([vector()], [vector()])
    assert (found.fail_to_pass, found.pass_to_pass, found.pass_to_fail) == ((), (), ())
