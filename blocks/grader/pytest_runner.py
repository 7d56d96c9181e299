"""Runs pytest as the subject, with our configuration, our plugin and a clean environment."""

from __future__ import annotations

import json
import os
import posixpath
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import tree
from .account import Account, GraderError
from .configuration import ini_text
from .report import Report, as_json, clean, read_report
from .run_folder import SYSTEM_PATH, run_folder, subject_environment
from .subject import Finished, run_as_subject

INSIDE = ("__init__.py", "launch.py", "plugin.py", "channel.py", "failure.py")


@dataclass(frozen=True)
class PytestJob:
    """One run. `files` are relative to the workspace; none: pytest's own choice (testpaths, else all of the folder)."""

    workspace: Path
    python: str
    account: Account
    files: tuple[str, ...] = ()
    ini_lines: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_sec: float = 900.0
    folder: str = "."
    """The project's, relative to the workspace: pytest's rootdir and working directory, and what paths of the
    configuration and the arguments are relative to. What is reported is relative to the workspace all the same."""


@dataclass(frozen=True)
class PytestRun:
    """What came of it."""

    report: Report
    finished: Finished

    @property
    def complete(self) -> bool:
        """The session went through to its end and pytest said so with the nonce, and nobody else wrote into the channel."""
        return _is_complete(self.report, self.finished)


def vector_of(report: Report, finished: Finished | None) -> dict[str, object]:
    """The JSON form of blocks.vectors.TestVector; without `finished`, of a run that never took place."""
    exit_code = finished.exit_code if finished is not None else None
    return {
        "results": as_json(report.results),
        "complete": finished is not None and _is_complete(report, finished),
        "timed_out": finished is not None and finished.timed_out,
        "exit_code": exit_code if exit_code is not None else report.exit_code,
        "collection_errors": list(report.collection_errors),
        "log_tail": clean(finished.log_tail) if finished is not None else "",
    }


def run_pytest(job: PytestJob) -> PytestRun:
    """Run it to its end or its timeout; no process of the subject is left afterwards (else `finished.all_ended` is
    False).

    Raises:
        GraderError: there is no such interpreter or workspace, or no process could be started.
    """
    if not os.access(job.python, os.X_OK):
        raise GraderError(f"there is no interpreter {job.python}; build the environment anew or correct the spec")
    if not tree.is_folder(job.workspace):
        raise GraderError(f"the workspace {job.workspace} is not a folder")
    project = job.workspace / job.folder
    if not tree.is_folder(project):
        gone = Finished(None, False, b"", f"the submission has no folder {job.folder}\n", False, True, 0.0)
        return PytestRun(Report({}), gone)
    nonce = secrets.token_hex(16)
    with run_folder(job.account, Path(__file__).parent / "inside", INSIDE) as folder:
        ini = folder / "runner" / "pytest.ini"
        tree.write_new(ini, ini_text(job.ini_lines, project).encode("utf-8"))
        finished = run_as_subject(
            job.account,
            [job.python, "-u", "-B", str(folder / "runner" / "launch.py")],
            cwd=project,
            environment=_environment(job, folder),
            orders=json.dumps({"nonce": nonce, "arguments": _arguments(job, ini)}).encode("ascii"),
            end_mark=f'{nonce} {{"event": "end"'.encode("ascii"),
            timeout_sec=job.timeout_sec,
        )
    report = read_report(finished.report, nonce, timed_out=finished.timed_out)
    return PytestRun(of_workspace(report, job.folder), finished)


def of_workspace(report: Report, folder: str) -> Report:
    """A report whose ids begin with paths relative to the folder, with ids relative to the workspace."""
    if folder == ".":
        return report

    def placed(test_id: str) -> str:
        path, separator, name = test_id.partition("::")
        return posixpath.normpath(f"{folder}/{path}") + separator + name

    results = {placed(test_id): outcome for test_id, outcome in report.results.items()}
    return replace(report, results=results, collection_errors=tuple(map(placed, report.collection_errors)))


def _is_complete(report: Report, finished: Finished) -> bool:
    return report.ended and not finished.overflowed


def _arguments(job: PytestJob, ini: Path) -> list[str]:
    project = job.workspace / job.folder
    own = ["-c", str(ini), f"--rootdir={project}", f"--confcutdir={project}", "-o", "addopts="]
    ours = ["-p", "no:cacheprovider", "-p", "no:randomly", "--continue-on-collection-errors", "--color=no"]
    shown = ["-q", "-rfE", "--tb=short"]
    files = [posixpath.relpath(path, job.folder) for path in job.files] if job.folder != "." else job.files
    return [*own, *ours, *shown, *job.arguments, *files]


def _environment(job: PytestJob, folder: Path) -> dict[str, str]:
    """What every subject gets, what Python needs, then what the spec names."""
    return {
        **subject_environment(job.account, folder),
        "PATH": f"{Path(job.python).parent}:{SYSTEM_PATH}",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        **job.environment,
    }
