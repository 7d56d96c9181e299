"""Builds a C or C++ tree as the subject, outside the workspace, and runs its tests there. See inside_native/."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import tree
from .account import Account, GraderError
from .pytest_runner import PytestRun
from .report import read_report
from .run_folder import SYSTEM_PATH, run_folder, subject_environment
from .subject import run_as_subject

HERE = Path(__file__).parent
SYSTEM_PYTHON = "/usr/bin/python3"
COMPILERS = "/opt/compilers"
"""Folder of the wrappers (inside_native/compiler.py) that stand before the real compilers."""


@dataclass(frozen=True)
class NativeJob:
    """One run: the whole suite, from nothing. `build` is the JSON form of blocks.recipe.NativeBuild."""

    workspace: Path
    account: Account
    build: Mapping[str, object]
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_sec: float = 900.0
    fresh: tuple[str, ...] = ()
    """Files that count as just written; all others then count as old, so that nothing a tree brings built is newer."""


def run_native(job: NativeJob) -> PytestRun:
    """Build and test; no process of the subject is left afterwards (else `finished.all_ended` is False).

    Raises:
        GraderError: there is no such workspace, or no process could be started.
    """
    if not tree.is_folder(job.workspace):
        raise GraderError(f"the workspace {job.workspace} is not a folder")
    nonce = secrets.token_hex(16)
    names = sorted(path.name for path in (HERE / "inside_native").glob("*.py"))
    with run_folder(job.account, HERE / "inside_native", names) as folder:
        tree.write_new(folder / "runner" / "channel.py", (HERE / "inside" / "channel.py").read_bytes())
        orders = {"nonce": nonce, "workspace": str(job.workspace), "build": dict(job.build), "fresh": list(job.fresh)}
        finished = run_as_subject(
            job.account,
            [SYSTEM_PYTHON, "-I", "-S", "-u", "-B", str(folder / "runner" / "launch.py")],
            cwd=job.workspace,
            environment=_environment(job, folder),
            orders=json.dumps(orders).encode("ascii"),
            end_mark=f'{nonce} {{"event": "end"'.encode("ascii"),
            timeout_sec=job.timeout_sec,
        )
    return PytestRun(read_report(finished.report, nonce, timed_out=finished.timed_out), finished)


def _environment(job: NativeJob, folder: Path) -> dict[str, str]:
    return {
        **subject_environment(job.account, folder),
        "PATH": f"{COMPILERS}:{SYSTEM_PATH}",
        "CTEST_OUTPUT_ON_FAILURE": "1",
        **job.environment,
    }
