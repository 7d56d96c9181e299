"""Runs a suite as the grader would and writes the vector: no whitelist, no hidden tests, no policy, no sentinels."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .output import write_whole
from .pytest_runner import PytestRun, vector_of
from .report import Report, TestOutcome


def observe(
    workspace: Path, files: tuple[str, ...], run: Callable[[tuple[str, ...]], PytestRun], out: Path
) -> dict[str, object]:
    """Write the JSON form of blocks.vectors.TestVector to `out`, and return it. `run` takes the files to be run.

    Named files that are not there are not run: they are told as collection errors of kind `absent`, and the others run.
    If none of the named files is there nothing is run, and the vector is not complete.

    Raises:
        GraderError: as `run`.
    """
    present, absent = split_present(workspace, files)
    if files and not present:
        vector = vector_of(_with_absent(Report({}), absent), None)
    else:
        done = run(present)
        vector = vector_of(_with_absent(done.report, absent), done.finished)
    write_whole(out, json.dumps(vector, indent=1, sort_keys=True) + "\n")
    return vector


def split_present(workspace: Path, files: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which of the files (or `file::id` arguments) exist as files or folders, and which do not."""
    present = tuple(path for path in files if _exists(workspace / path.partition("::")[0]))
    return present, tuple(path for path in files if path not in present)


def _with_absent(report: Report, absent: tuple[str, ...]) -> Report:
    missing = {path: TestOutcome("failed", "absent", 0.0, "there is no such file") for path in absent}
    errors = tuple(sorted({*report.collection_errors, *absent}))
    return replace(report, results={**report.results, **missing}, collection_errors=errors)


def _exists(path: Path) -> bool:
    try:
        return stat.S_IFMT(path.lstat().st_mode) in (stat.S_IFREG, stat.S_IFDIR)
    except OSError:
        return False
