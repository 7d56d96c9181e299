"""The grader's command line: `grade` and `observe`.

Exit codes: 0 a reward (0 or 1) or a vector was written; 2 none could be, through no fault of the submission.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .account import GraderError, resolve_account
from .grade import grade
from .native_runner import NativeJob, run_native
from .node_runner import NodeJob, run_node
from .observe import observe
from .pytest_runner import PytestJob, PytestRun, run_pytest
from .spec import is_plain_path


def main(argv: Sequence[str]) -> int:
    """Run one command; returns its exit code."""
    options = _parser().parse_args(argv)
    try:
        if options.command == "grade":
            reward = grade(options.spec.absolute(), options.out.absolute())
            _say(f"reward {reward}" if reward is not None else "no reward: see details.json")
            return 0 if reward is not None else 2
        files = _texts(options.files_json)
        vector = observe(options.workspace.absolute(), files, RUNNERS[options.runner](options), options.out.absolute())
        _say(f"complete: {vector['complete']}")
        return 0
    except (GraderError, OSError) as error:
        _say(f"grader: {error}")
        return 2


if TYPE_CHECKING:
    Runner = Callable[[tuple[str, ...]], PytestRun]


def _pytest(options: argparse.Namespace) -> Runner:
    job = PytestJob(
        workspace=options.workspace.absolute(),
        python=options.python,
        account=resolve_account(options.user),
        folder=_folder(options.folder),
        ini_lines=_ini_lines(options.ini_file),
        arguments=_texts(options.arguments_json),
        environment=_variables(options.environment_json),
        timeout_sec=options.timeout,
    )
    return lambda files: run_pytest(replace(job, files=files))


def _native(options: argparse.Namespace) -> Runner:
    job = NativeJob(
        workspace=options.workspace.absolute(),
        account=resolve_account(options.user),
        build=_object(options.build_json),
        environment=_variables(options.environment_json),
        timeout_sec=options.timeout,
    )
    return lambda _: run_native(job)


def _node(options: argparse.Namespace) -> Runner:
    job = NodeJob(
        workspace=options.workspace.absolute(),
        account=resolve_account(options.user),
        folder=_folder(options.folder),
        build=_object(options.build_json),
        environment=_variables(options.environment_json),
        timeout_sec=options.timeout,
    )
    return lambda _: run_node(job)


RUNNERS: dict[str, Callable[[argparse.Namespace], Runner]] = {"pytest": _pytest, "native": _native, "node": _node}
"""What `observe` can run."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="grader", description="Runs and judges the tests of one environment.")
    commands = parser.add_subparsers(dest="command", required=True)
    grading = commands.add_parser("grade", help="decide about a submission; must be started as root")
    grading.add_argument("--spec", type=Path, required=True, help="spec.json; hidden/ and base/ lie beside it")
    grading.add_argument("--out", type=Path, required=True, help="folder for reward.json, reward.txt, details.json")
    seeing = commands.add_parser("observe", help="run a suite and write what each test gave")
    seeing.add_argument("--workspace", type=Path, required=True)
    seeing.add_argument("--folder", default=".", help="of the project, relative to the workspace")
    seeing.add_argument("--runner", choices=sorted(RUNNERS), default="pytest")
    seeing.add_argument("--python", help="pytest: interpreter that has it and the dependencies")
    seeing.add_argument("--build-json", default="{}", help="native, node: how it is built; JSON, or @FILE with it")
    seeing.add_argument("--user", help="user to run as; must be given when started as root")
    seeing.add_argument("--timeout", type=float, default=900.0, help="seconds")
    seeing.add_argument("--ini-file", type=Path, help="file with the lines of the [pytest] section")
    seeing.add_argument("--arguments-json", default="[]", help="list of pytest arguments; JSON, or @FILE with it")
    seeing.add_argument("--environment-json", default="{}", help="object of variables; JSON, or @FILE with it")
    seeing.add_argument("--files-json", default="[]", help="list of files, relative to the workspace; or @FILE")
    seeing.add_argument("--out", type=Path, required=True, help="where the vector is written")
    return parser


def _ini_lines(path: Path | None) -> tuple[str, ...]:
    lines = path.read_text(encoding="utf-8").splitlines() if path is not None else []
    return tuple(line for line in lines if line.strip() != "[pytest]")


def _folder(path: str) -> str:
    if path != "." and not is_plain_path(path):
        raise GraderError(f"--folder {path!r} is not a plain relative path")
    return path


def _texts(text: str) -> tuple[str, ...]:
    value = _json(text)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise GraderError("an option is not a JSON list of texts")
    return tuple(value)


def _variables(text: str) -> dict[str, str]:
    value = _json(text)
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise GraderError("an option is not a JSON object of texts")
    return value


def _object(text: str) -> dict[str, object]:
    value = _json(text)
    if not isinstance(value, dict):
        raise GraderError("an option is not a JSON object")
    return value


def _json(text: str) -> object:
    try:
        return json.loads(Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text)
    except ValueError as error:
        raise GraderError(f"an option is not JSON: {error}") from None


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
