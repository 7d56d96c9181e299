"""Reward 1, reward 0 or no reward: pure, from what was seen."""

from __future__ import annotations

from dataclasses import dataclass

from .control import Control
from .graded import Graded
from .pytest_runner import PytestRun
from .report import TestOutcome

ABSENT = TestOutcome("failed", "absent", 0.0, "not in the report")


@dataclass(frozen=True)
class Verdict:
    """`reward` is None when nobody can say; `reasons` are codes, empty for reward 1."""

    reward: int | None
    reasons: tuple[str, ...]
    failed: dict[str, TestOutcome]
    """Whitelisted tests that did not pass."""


def decide(graded: Graded, *, whitelist: tuple[str, ...], control: Control | None) -> Verdict:
    """Reward 1 if and only if every run is complete, every sentinel failed and every whitelisted test passed.

    `control` must be given when a run is not complete. Reasons: timeout, killed, report_incomplete, report_tampered,
    report_too_long, processes_left, protected_changed, sentinel_silent, test_failed, test_skipped, test_absent,
    infrastructure.
    """
    results = graded.run.report.results
    failed = {test: results.get(test, ABSENT) for test in whitelist if results.get(test, ABSENT).status != "passed"}
    reasons = list(dict.fromkeys(reason for run in graded.runs for reason in _run_reasons(run)))
    if graded.changed:
        reasons.append("protected_changed")
    if not graded.complete and (control is None or not control.works):
        return Verdict(None, (*reasons, "infrastructure"), failed)
    if any(status != "failed" for status in graded.sentinels.values()):
        reasons.append("sentinel_silent")
    kinds = {_word(outcome) for outcome in failed.values()}
    reasons += sorted(kinds)
    return Verdict(0 if reasons else 1, tuple(reasons), failed)


def _run_reasons(run: PytestRun) -> list[str]:
    finished = run.finished
    told = [
        ("timeout", finished.timed_out),
        ("killed", finished.exit_code is not None and finished.exit_code < 0),
        ("report_tampered", bool(run.report.faults)),
        ("report_too_long", finished.overflowed),
        ("report_incomplete", not run.report.ended),
        ("processes_left", not finished.all_ended),
    ]
    return [reason for reason, holds in told if holds]


def _word(outcome: TestOutcome) -> str:
    if outcome is ABSENT or outcome.failure_kind == "absent":
        return "test_absent"
    return "test_skipped" if outcome.status == "skipped" else "test_failed"
