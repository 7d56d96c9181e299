"""The whole of a grading: prepare the submission, run, look again, decide, write."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import asdict, replace
from pathlib import Path

from . import GRADER_VERSION, sentinel, submission, tree
from .account import Account, GraderError, resolve_account
from .control import Control, run_control
from .observe import split_present
from .output import OutputFolder
from .processes import end_all
from .pytest_runner import PytestJob, PytestRun, run_pytest, vector_of
from .report import as_json
from .spec import GraderSpec, SpecError, load_spec
from .verdict import Verdict, decide

SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")
DISK_FLOOR_BYTES = 16 << 20


def grade(spec_path: Path, out: Path) -> int | None:
    """Grade the workspace that the spec names and write the verdict to `out`.

    Returns the reward, or None where there is none to give: then no reward file is left in `out`, and details.json says
    what the machine or the published task lacks. tests/ (the folder of the spec) is closed to everyone but root.
    """
    output = OutputFolder(out)
    started = time.monotonic()
    try:
        spec = load_spec(spec_path)
        account = resolve_account(spec.subject_user)
        if not account.switch:
            raise GraderError("the grader must be started as root, to keep the submission's code away from itself")
        close_to_subject(spec_path.parent)
        verdict, details = _grade(spec, spec_path.parent, account)
    except (GraderError, SpecError) as error:
        verdict, details = Verdict(None, ("infrastructure",), {}), {"infrastructure": str(error)}
    output.release()
    head = {"schema_version": 1, "grader_version": GRADER_VERSION, "seconds": round(time.monotonic() - started, 3)}
    output.write(
        {**head, "reward": verdict.reward, "reasons": list(verdict.reasons), **details},
        verdict.reward,
    )
    return verdict.reward


def close_to_subject(folder: Path) -> None:
    """Only root may enter."""
    tree.own(folder)
    folder.chmod(0o700)


def _grade(spec: GraderSpec, tests: Path, account: Account) -> tuple[Verdict, dict[str, object]]:
    end_all(account)
    workspace = Path(spec.workspace)
    if not tree.is_folder(workspace):
        return _unusable(spec, account, f"{workspace} is not a folder")
    free = _free_bytes(workspace)
    try:
        actions = submission.prepare(spec, tests, account)
        present, _ = split_present(workspace, spec.test_files)
        files, sentinels = sentinel.plant(workspace, present, account)
    except OSError as error:
        return _unusable(spec, account, f"the submission cannot be brought into the state that is graded: {error}")
    run = run_pytest(_job(spec, account, files))
    changed = tuple(submission.changed(spec))
    _tidy(workspace, files, present, account)
    control = None
    if not run.complete:
        control = run_control(spec.python, account, spec.environment)
        if not control.works and _free_bytes(workspace) < DISK_FLOOR_BYTES <= free:
            control = Control(True, "the control run failed on a disk that the submission had filled")
    verdict = decide(run, whitelist=spec.whitelist, sentinels=sentinels, changed=changed, control=control)
    details = _details(spec, run, verdict, sentinels, control)
    details["policy"] = [asdict(action) for action in actions]
    details["changed"] = list(changed)
    return verdict, details


def _unusable(spec: GraderSpec, account: Account, why: str) -> tuple[Verdict, dict[str, object]]:
    """The submission cannot even be run: its fault if the machine works."""
    control = run_control(spec.python, account, spec.environment)
    if control.works:
        return Verdict(0, ("submission_unusable",), {}), {"submission": why, "control": asdict(control)}
    reasons = ("submission_unusable", "infrastructure")
    return Verdict(None, reasons, {}), {"submission": why, "control": asdict(control)}


def _job(spec: GraderSpec, account: Account, files: tuple[str, ...]) -> PytestJob:
    return PytestJob(
        workspace=Path(spec.workspace),
        python=spec.python,
        account=account,
        files=files,
        ini_lines=spec.ini_lines,
        arguments=spec.arguments,
        environment=spec.environment,
        timeout_sec=spec.timeout_sec,
    )


def _details(
    spec: GraderSpec, run: PytestRun, verdict: Verdict, sentinels: frozenset[str], control: Control | None
) -> dict[str, object]:
    results = run.report.results
    own = {path.partition("::")[0] for path in sentinels}
    shown = {test: result for test, result in results.items() if test.partition("::")[0] not in own}
    return {
        "fail_to_pass": _count(spec.fail_to_pass, verdict),
        "pass_to_pass": _count(spec.pass_to_pass, verdict),
        "failed_tests": as_json(verdict.failed),
        "sentinels": {test: results[test].status if test in results else "absent" for test in sorted(sentinels)},
        "faults": list(run.report.faults),
        "control": asdict(control) if control is not None else None,
        "vector": vector_of(replace(run.report, results=shown), run.finished),
    }


def _count(ids: tuple[str, ...], verdict: Verdict) -> dict[str, int]:
    return {"passed": sum(test not in verdict.failed for test in ids), "total": len(ids)}


def _tidy(workspace: Path, files: tuple[str, ...], test_files: tuple[str, ...], account: Account) -> None:
    """Remove the sentinels, and what the subject left where everybody may write (also memory, in /dev/shm)."""
    for path in set(files) - set(test_files):
        tree.remove(workspace / path)
    for folder in map(Path, SHARED_FOLDERS):
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(folder):  # noqa: PTH208
                if (folder / name).lstat().st_uid == account.uid:
                    tree.remove(folder / name)


def _free_bytes(folder: Path) -> int:
    info = os.statvfs(folder)
    return info.f_bavail * info.f_frsize
