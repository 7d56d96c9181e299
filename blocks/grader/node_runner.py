"""Runs a JavaScript project's tests as the subject: links its dependencies, builds what has to be built, starts each suite.

Every suite reports through its own channel with its own nonce; what they say is put together. An id that several
suites report keeps the worst of its results.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import tree
from .account import Account, GraderError
from .junit import read_junit
from .node_tools import NODE, NodeSuite, command, read_suite
from .pytest_runner import PytestRun
from .report import Report, TestOutcome, read_report
from .run_folder import SYSTEM_PATH, run_folder, subject_environment
from .spec import is_plain_path
from .subject import Finished, run_as_subject
from .submission import guard

HERE = Path(__file__).parent
DEPENDENCIES = Path("/deps")
_BUN_ENDS = frozenset({0, 1})
_RANK = {"passed": 0, "skipped": 1, "failed": 2}
_STARTER = """
import os, sys
channel = "/proc/%d/fd/%s" % (os.getpid(), sys.argv[-1])
os.environ["GRADER_CHANNEL"] = channel
os.execvpe(sys.argv[1], [word.replace("@channel", channel) for word in sys.argv[1:-1]], os.environ)
"""
"""Says where the channel is, and becomes the command."""


def _nothing() -> None:
    """Before a suite, where there is nothing to do."""


@dataclass(frozen=True)
class NodeJob:
    """One run. `build` is the JSON form of blocks.recipe.NodeBuild; its folders are relative to the workspace."""

    workspace: Path
    account: Account
    build: Mapping[str, object]
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_sec: float = 900.0
    folder: str = "."
    """The project's, relative to the workspace: whose commands are on the path."""
    before_suite: Callable[[], None] = _nothing
    """Called when everything is built, and between the suites; no process of the subject is running."""


def links_of(build: Mapping[str, object]) -> list[str]:
    """Paths of the links into the dependencies."""
    return [str(path) for path in _list(build, "links")]


def run_node(job: NodeJob) -> PytestRun:
    """Run every suite; no process of the subject is left afterwards (else `finished.all_ended` is False).

    Raises:
        GraderError: there is no such workspace or node, or the job is not what it should be.
    """
    if not tree.is_folder(job.workspace):
        raise GraderError(f"the workspace {job.workspace} is not a folder")
    suites = [read_suite(one) for one in _list(job.build, "suites")]
    if not suites:
        raise GraderError("the recipe names no suite")
    deadline = time.monotonic() + job.timeout_sec
    link_dependencies(job.workspace, links_of(job.build), job.account)
    said = [_built(job, argv, deadline) for argv in _list(job.build, "commands")]
    runs = []
    for suite in suites:
        job.before_suite()
        runs.append(_run(job, suite, deadline))
    finished = _joined([run.finished for run in runs])
    log = "".join(said) + finished.log_tail
    return PytestRun(_merged([run.report for run in runs]), replace(finished, log_tail=log[-8192:]))


def link_dependencies(workspace: Path, links: list[str], account: Account) -> None:
    """Make each `<folder>/node_modules` a link into the dependencies, where the folder is there and nothing is in its way.

    Where this process is root the links are its own, in folders whose entries the subject can add to but not replace.

    Raises:
        GraderError: a path that is not a plain relative one.
    """
    for path in links:
        if not is_plain_path(path):
            raise GraderError(f"link {path!r} is not a plain relative path")
        place = workspace / path
        if tree.is_folder(place.parent) and not os.path.lexists(place):
            if account.switch:
                tree.own(place.parent)
            place.symlink_to(DEPENDENCIES / path)
            if account.switch:
                guard(workspace, path, account)


def run_node_control(folder: Path, account: Account, environment: Mapping[str, str], timeout_sec: float) -> PytestRun:
    """inside_node/control.cjs: node itself, and the way from it to here.

    Raises:
        GraderError: no process could be started.
    """
    nonce = secrets.token_hex(16)
    job = NodeJob(folder, account, {}, environment=environment, timeout_sec=timeout_sec)
    with run_folder(account, HERE / "inside_node", _reporters()) as place:
        finished = _start(job, place, folder, [NODE, str(place / "runner" / "control.cjs")], {}, nonce, timeout_sec)
    return PytestRun(read_report(finished.report, nonce, timed_out=finished.timed_out), finished)


def _built(job: NodeJob, value: object, deadline: float) -> str:
    """Run a build command. That it failed is told in the log only: the tests show what came of it."""
    if not isinstance(value, Mapping):
        raise GraderError("a build command is not an object")
    argv = [str(word) for word in _list(value, "argv")]
    folder = job.workspace / str(value.get("folder", "."))
    if not argv or not tree.is_folder(folder):
        return ""
    with run_folder(job.account, HERE / "inside_node", ()) as place:
        done = run_as_subject(
            job.account,
            ["/usr/bin/python3", "-I", "-S", "-c", _STARTER, *argv],
            cwd=folder,
            environment=_environment(job, place, folder),
            orders=b"",
            end_mark=secrets.token_bytes(16),
            timeout_sec=max(1.0, deadline - time.monotonic()),
        )
    return f"$ {' '.join(argv)}\n{done.log_tail[-2000:]}\n[ended with {done.exit_code}]\n"


def _run(job: NodeJob, suite: NodeSuite, deadline: float) -> PytestRun:
    nonce = secrets.token_hex(16)
    with run_folder(job.account, HERE / "inside_node", _reporters()) as place:
        try:
            argv, variables = command(suite, job.workspace, place / "runner")
        except GraderError as error:
            nothing = Finished(None, False, b"", f"{error}\n", False, True, 0.0)
            return PytestRun(Report({}), nothing)
        left_sec = max(1.0, deadline - time.monotonic())
        folder = job.workspace / suite.folder
        finished = _start(job, place, folder, argv, {**variables, **dict(suite.environment)}, nonce, left_sec)
    if suite.tool == "bun":
        return PytestRun(read_bun(finished, nonce, suite.folder), finished)
    return PytestRun(read_report(finished.report, nonce, timed_out=finished.timed_out), finished)


def _start(
    job: NodeJob,
    place: Path,
    folder: Path,
    argv: Sequence[str],
    variables: Mapping[str, str],
    nonce: str,
    timeout_sec: float,
) -> Finished:
    return run_as_subject(
        job.account,
        ["/usr/bin/python3", "-I", "-S", "-c", _STARTER, *argv],
        cwd=folder,
        environment={**_environment(job, place, folder), **variables},
        orders=json.dumps({"nonce": nonce, "workspace": str(job.workspace)}).encode("ascii"),
        end_mark=f'{nonce} {{"event":"end"'.encode("ascii"),
        timeout_sec=timeout_sec,
        is_script=True,
    )


def read_bun(finished: Finished, nonce: str, folder: str) -> Report:
    """What came through the pipe: the end record, from bun.cjs, and one JUnit document, from bun itself."""
    mark = f'{nonce} {{"event":"end"'.encode("ascii")
    lines = finished.report.split(b"\n")
    ends = [line for line in lines if line.startswith(mark)]
    results = read_junit(
        b"\n".join(line for line in lines if not line.startswith(mark)), "" if folder == "." else f"{folder}/"
    )
    if results is None:
        return Report({}, (), None, ("no JUnit document, or more than one",) if finished.report else ())
    if len(ends) != 1 or finished.exit_code not in _BUN_ENDS:
        return Report(results)
    return Report(results, (), finished.exit_code)


def _reporters() -> list[str]:
    return sorted(path.name for path in (HERE / "inside_node").iterdir() if path.suffix in (".cjs", ".mjs"))


def _merged(reports: list[Report]) -> Report:
    results: dict[str, TestOutcome] = {}
    for report in reports:
        for test_id, outcome in report.results.items():
            if test_id not in results or _RANK[outcome.status] > _RANK[results[test_id].status]:
                results[test_id] = outcome
    errors = sorted({path for report in reports for path in report.collection_errors})
    codes = [report.exit_code for report in reports]
    worst = None if None in codes else max(code or 0 for code in codes)
    return Report(results, tuple(errors), worst, tuple(fault for report in reports for fault in report.faults))


def _joined(runs: list[Finished]) -> Finished:
    codes = [run.exit_code for run in runs if run.exit_code]
    return Finished(
        exit_code=codes[0] if codes else runs[-1].exit_code,
        timed_out=any(run.timed_out for run in runs),
        report=b"",
        log_tail="".join(run.log_tail for run in runs),
        overflowed=any(run.overflowed for run in runs),
        all_ended=all(run.all_ended for run in runs),
        seconds=sum(run.seconds for run in runs),
    )


def _environment(job: NodeJob, place: Path, folder: Path) -> dict[str, str]:
    bins = [f"{one}/node_modules/.bin" for one in (folder, job.workspace / job.folder)]
    return {
        **subject_environment(job.account, place),
        "PATH": ":".join([*dict.fromkeys(bins), SYSTEM_PATH]),
        "CI": "1",
        "npm_config_offline": "true",
        "npm_config_update_notifier": "false",
        **job.environment,
    }


def _list(value: Mapping[str, object], name: str) -> list[object]:
    found = value.get(name, [])
    if not isinstance(found, (list, tuple)):
        raise GraderError(f"{name} is not a list")
    return list(found)
