"""The control run: does this machine, with this interpreter and user, tell a passing test from a failing one?

Asked only when a submission's run gave no complete report. If the control works, the submission is at fault (reward
0); if it does not, nobody can say (no reward).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import tree
from .account import Account, GraderError
from .pytest_runner import PytestJob, run_pytest

CONTROL_TIMEOUT_SEC = 120.0
_TESTS = b"def test_right():\n    assert 1 + 1 == 2\n\n\ndef test_wrong():\n    assert 1 + 1 == 3\n"
_EXPECTED = {"test_control.py::test_right": "passed", "test_control.py::test_wrong": "failed"}


@dataclass(frozen=True)
class Control:
    """Whether the machine works, and in words what it did."""

    works: bool
    message: str


def run_control(python: str, account: Account, environment: Mapping[str, str]) -> Control:
    """One passing and one failing test in an otherwise empty folder."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="control-"))
    except OSError as error:
        return Control(False, f"no folder for the control run: {error}")
    try:
        folder.chmod(0o755)
        tree.write_new(folder / "test_control.py", _TESTS)
        files = ("test_control.py",)
        run = run_pytest(
            PytestJob(folder, python, account, files, environment=environment, timeout_sec=CONTROL_TIMEOUT_SEC)
        )
    except (GraderError, OSError) as error:
        return Control(False, str(error))
    finally:
        if os.path.lexists(folder):
            tree.remove(folder)
    told = {test_id: outcome.status for test_id, outcome in run.report.results.items()}
    if run.complete and told == _EXPECTED:
        return Control(True, "the control run told a passing test from a failing one")
    return Control(False, f"exit code {run.finished.exit_code}, {told}: {run.finished.log_tail[-500:]}")
