"""The whole of a grading: prepare the submission, run, look again, decide, write."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from . import GRADER_VERSION, submission, tree
from .account import Account, GraderError, resolve_account
from .control import Control, run_control
from .graded import Graded
from .graded_native import grade_native
from .graded_node import grade_node
from .graded_pytest import grade_pytest
from .output import OutputFolder
from .processes import end_all
from .pytest_runner import vector_of
from .report import as_json
from .spec import GraderSpec, SpecError, load_spec
from .tidy import remove_shared
from .verdict import Verdict, decide

GRADED: Mapping[str, Callable[[GraderSpec, Path, Account], Graded]] = {
    "pytest": grade_pytest,
    "node": grade_node,
    "native": grade_native,
}
"""By the runner of the spec."""
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
        graded = GRADED[spec.runner](spec, tests, account)
    except OSError as error:
        end_all(account)
        remove_shared(account)
        return _unusable(spec, account, f"the submission cannot be brought into the state that is graded: {error}")
    remove_shared(account)
    control = None
    if not graded.complete:
        control = run_control(spec, account)
        if not control.works and _free_bytes(workspace) < DISK_FLOOR_BYTES <= free:
            control = Control(True, "the control run failed on a disk that the submission had filled")
    verdict = decide(graded, whitelist=spec.whitelist, control=control)
    details = _details(spec, graded, verdict, control)
    details["policy"] = [asdict(action) for action in actions]
    details["changed"] = list(graded.changed)
    return verdict, details


def _unusable(spec: GraderSpec, account: Account, why: str) -> tuple[Verdict, dict[str, object]]:
    """The submission cannot even be run: its fault if the machine works."""
    control = run_control(spec, account)
    if control.works:
        return Verdict(0, ("submission_unusable",), {}), {"submission": why, "control": asdict(control)}
    reasons = ("submission_unusable", "infrastructure")
    return Verdict(None, reasons, {}), {"submission": why, "control": asdict(control)}


def _details(spec: GraderSpec, graded: Graded, verdict: Verdict, control: Control | None) -> dict[str, object]:
    run = graded.run
    return {
        "fail_to_pass": _count(spec.fail_to_pass, verdict),
        "pass_to_pass": _count(spec.pass_to_pass, verdict),
        "failed_tests": as_json(verdict.failed),
        "sentinels": dict(graded.sentinels),
        "silent_files": list(graded.silent_files),
        "faults": [fault for one in graded.runs for fault in one.report.faults],
        "control": asdict(control) if control is not None else None,
        "vector": vector_of(replace(run.report, results=graded.results()), run.finished),
    }


def _count(ids: tuple[str, ...], verdict: Verdict) -> dict[str, int]:
    return {"passed": sum(test not in verdict.failed for test in ids), "total": len(ids)}


def _free_bytes(folder: Path) -> int:
    info = os.statvfs(folder)
    return info.f_bavail * info.f_frsize
