"""The quality card of a real environment, and what is written beside it."""

import pytest

from blocks.records import CostRow, EnvironmentRow, Outcome, Phase, TestResultRow, TestRunRow, VerifierRow
from tests.tasks.pipeline import Candidate
from tests.tasks.projects import FAIL_TO_PASS, PASS_TO_PASS

pytestmark = pytest.mark.engine


def test_the_card(verified: Candidate) -> None:
    manifest = verified.chain.manifest(Phase.SYNTHESIS)
    row = verified.chain.row(Phase.SYNTHESIS, VerifierRow)
    environment = verified.chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    assert (manifest.outcome, row.status, row.tier, row.grade) == (Outcome.PASSED, "admitted", "train", "B")
    assert row.environment_id == environment.environment_id
    assert (row.fail_to_pass, row.pass_to_pass, row.pass_to_fail) == (1, 1, 1)
    assert (row.nop_reward, row.oracle_reward, row.repeats, row.flips) == (0, 1, 1, 0)
    assert (row.hunks_required, row.hunks_detected) == (1, 1)
    assert (row.stub_reward, row.mutants, row.attacks, row.twins) == (None, None, None, None), "not measured is null"


def test_runs_and_results(verified: Candidate) -> None:
    runs = {row.run: row for row in verified.chain.rows(Phase.SYNTHESIS, TestRunRow)}
    assert {name: (row.kind, row.passed, row.failed, row.reward) for name, row in runs.items()} == {
        "nop-1": ("nop", 1, 1, 0),
        "oracle-1": ("oracle", 2, 0, 1),
        "hunk-src/kettle/core.py:2": ("hunk", 1, 1, 0),
    }
    results = {(row.run, row.test_id): row.outcome for row in verified.chain.rows(Phase.SYNTHESIS, TestResultRow)}
    assert results[("nop-1", FAIL_TO_PASS[0])] == "failed"
    assert results[("oracle-1", FAIL_TO_PASS[0])] == results[("nop-1", PASS_TO_PASS[0])] == "passed"
    assert {run for run, _ in results} == {"nop-1", "oracle-1"}
    assert {row.kind for row in verified.chain.rows(Phase.SYNTHESIS, CostRow)} >= {"containers", "oracle_seconds"}


def test_what_is_published_under_tests(verified: Candidate) -> None:
    tests = verified.chain.tree(Phase.SYNTHESIS, "tests.tar")
    assert {"test.sh", "spec.json", "grader/__main__.py", "hidden/tests/test_core.py"} <= set(tests)
    assert "base/tests/test_legacy.py" in tests, "a test of the start tree is restored, whoever changed it"
    assert "base/pyproject.toml" in tests
    assert not any("src/kettle" in path for path in tests)
    assert not any(b"334.4" in file.content for file in tests.values()), "the solution is not among the tests"
