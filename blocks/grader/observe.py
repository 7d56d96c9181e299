"""Runs a suite as the grader would and writes the vector: no whitelist, no hidden tests, no policy, no sentinels."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

from .output import write_whole
from .pytest_runner import PytestJob, run_pytest, vector_of
from .report import Report, TestOutcome


def observe(job: PytestJob, out: Path) -> dict[str, object]:
    """Write the JSON form of blocks.vectors.TestVector to `out`, and return it.

    Named files that are not there are not run: they are told as collection errors of kind `absent`, and the others run.
    If none of the named files is there nothing is run, and the vector is not complete.

    Raises:
        GraderError: as run_pytest.
    """
    present, absent = split_present(job.workspace, job.files)
    if job.files and not present:
        vector = vector_of(_with_absent(Report({}), absent), None)
    else:
        run = run_pytest(replace(job, files=present))
        vector = vector_of(_with_absent(run.report, absent), run.finished)
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
