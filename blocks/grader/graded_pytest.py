"""Grading by pytest: sentinels in files of their own, beside the first and the last that is run."""

from __future__ import annotations

from pathlib import Path

from . import sentinel, submission, tree
from .account import Account
from .graded import Graded
from .observe import split_present
from .pytest_runner import PytestJob, run_pytest
from .spec import GraderSpec


def grade_pytest(spec: GraderSpec, tests: Path, account: Account) -> Graded:
    """Run the named files with the sentinels; the workspace is prepared already."""
    del tests
    workspace = Path(spec.workspace)
    present, _ = split_present(workspace, spec.test_files)
    files, sentinels = sentinel.plant(workspace, present, account)
    run = run_pytest(
        PytestJob(
            workspace=workspace,
            python=spec.python,
            account=account,
            folder=spec.folder,
            files=files,
            ini_lines=spec.ini_lines,
            arguments=spec.arguments,
            environment=spec.environment,
            timeout_sec=spec.timeout_sec,
        )
    )
    changed = tuple(submission.changed(spec))
    planted = set(files) - set(present)
    for path in planted:
        tree.remove(workspace / path)
    results = run.report.results
    told = {test: results[test].status if test in results else "absent" for test in sorted(sentinels)}
    return Graded(run, told, changed, own=frozenset(planted))
