"""The control run: does this machine, with this interpreter and user, tell a passing test from a failing one?

Asked only when a submission's run gave no complete report. If the control works, the submission is at fault (reward
0); if it does not, nobody can say (no reward). For node it is node itself and our channel, not the project's test tool:
that lies among the dependencies, which belong to root.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import tree
from .account import Account, GraderError
from .native_runner import NativeJob, run_native
from .node_runner import run_node_control
from .pytest_runner import PytestJob, PytestRun, run_pytest
from .spec import GraderSpec
from .tidy import remove_shared

CONTROL_TIMEOUT_SEC = 120.0
_PYTHON = {
    "test_control.py": "def test_right():\n    assert 1 + 1 == 2\n\n\ndef test_wrong():\n    assert 1 + 1 == 3\n"
}
_MAKEFILE = """\
test: right wrong
\t./right
\t./wrong
right wrong: %: %.c
\tcc -o $@ $<
"""
_NATIVE = {
    "Makefile": _MAKEFILE,
    "right.c": "int main(void) { return 1 + 1 != 2; }\n",
    "wrong.c": "int main(void) { return 1 + 1 != 3; }\n",
}


@dataclass(frozen=True)
class Control:
    """Whether the machine works, and in words what it did."""

    works: bool
    message: str


@dataclass(frozen=True)
class _Way:
    files: Mapping[str, str]
    run: Callable[[GraderSpec, Path, Account], PytestRun]
    expected: Mapping[str, str]


def _by_pytest(spec: GraderSpec, folder: Path, account: Account) -> PytestRun:
    files = ("test_control.py",)
    return run_pytest(
        PytestJob(folder, spec.python, account, files, environment=spec.environment, timeout_sec=CONTROL_TIMEOUT_SEC)
    )


def _by_node(spec: GraderSpec, folder: Path, account: Account) -> PytestRun:
    return run_node_control(folder, account, spec.environment, CONTROL_TIMEOUT_SEC)


def _by_make(spec: GraderSpec, folder: Path, account: Account) -> PytestRun:
    build = {"system": "make", "targets": ["test"]}
    remove_shared(account)
    return run_native(NativeJob(folder, account, build, environment=spec.environment, timeout_sec=CONTROL_TIMEOUT_SEC))


_WAYS = {
    "pytest": _Way(
        _PYTHON, _by_pytest, {"test_control.py::test_right": "passed", "test_control.py::test_wrong": "failed"}
    ),
    "node": _Way({}, _by_node, {"control::right": "passed", "control::wrong": "failed"}),
    "native": _Way(_NATIVE, _by_make, {"right": "passed", "wrong": "failed"}),
}


def run_control(spec: GraderSpec, account: Account) -> Control:
    """One passing and one failing test in an otherwise empty folder, by the runner of the spec."""
    way = _WAYS[spec.runner]
    try:
        folder = Path(tempfile.mkdtemp(prefix="control-"))
    except OSError as error:
        return Control(False, f"no folder for the control run: {error}")
    try:
        folder.chmod(0o755)
        for name, text in way.files.items():
            tree.write_new(folder / name, text.encode("ascii"))
        run = way.run(spec, folder, account)
    except (GraderError, OSError) as error:
        return Control(False, str(error))
    finally:
        if os.path.lexists(folder):
            tree.remove(folder)
    told = {test_id: outcome.status for test_id, outcome in run.report.results.items()}
    if run.complete and told == dict(way.expected):
        return Control(True, "the control run told a passing test from a failing one")
    return Control(False, f"exit code {run.finished.exit_code}, {told}: {run.finished.log_tail[-500:]}")
