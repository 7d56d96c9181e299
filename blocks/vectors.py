"""What a run of a test suite gave, test by test: the form in which the grader reports and gates compare."""

from enum import StrEnum

from blocks.records import FailureKind, Record


class TestStatus(StrEnum):
    """How one test ended. Only `passed` counts as passed; a skipped whitelisted test has failed."""

    __test__ = False
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class TestResult(Record):
    """One test. `detail` is the type of the exception and its first line, cut to 300 characters."""

    __test__ = False
    status: TestStatus
    failure_kind: FailureKind | None = None
    seconds: float = 0.0
    detail: str = ""


class TestVector(Record):
    """A whole run. Ids are the runner's own (pytest node ids), relative to the workspace."""

    __test__ = False
    results: dict[str, TestResult]
    complete: bool
    """The runner reached its end (the end nonce came)."""
    timed_out: bool = False
    limit: str = ""
    """What the container was ended for (written bytes, memory), where that is why the run is not complete."""
    exit_code: int | None = None
    collection_errors: tuple[str, ...] = ()
    """Files that could not be collected."""
    log_tail: str = ""

    def passed(self) -> frozenset[str]:
        """Ids of the tests that passed."""
        return frozenset(test for test, result in self.results.items() if result.status is TestStatus.PASSED)


class StateComparison(Record):
    """S1 (start with the outcome's test files) against S2 (outcome), as reference/building.md defines the sets."""

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    pass_to_fail: tuple[str, ...]
    """What the real outcome broke: recorded and left out."""


def compare_states(before: list[TestVector], after: list[TestVector]) -> StateComparison:
    """fail_to_pass: passes in every `after` and in no `before`. pass_to_pass: passes in all.

    pass_to_fail: passes in every `before` and in no `after`. All sorted.
    """
    always_before = frozenset.intersection(*(vector.passed() for vector in before))
    ever_before = frozenset.union(*(vector.passed() for vector in before))
    always_after = frozenset.intersection(*(vector.passed() for vector in after))
    ever_after = frozenset.union(*(vector.passed() for vector in after))
    return StateComparison(
        fail_to_pass=tuple(sorted(always_after - ever_before)),
        pass_to_pass=tuple(sorted(always_after & always_before)),
        pass_to_fail=tuple(sorted(always_before - ever_after)),
    )
