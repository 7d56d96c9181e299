"""The folder everything is built in: a copy of the workspace, what is built from it, and how commands run there."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEST_TIMEOUT_SEC = 300.0
MAX_OUTPUT = 4 << 20
MAX_ROUNDS = 4
OLD = 315619200
"""1980-01-02 UTC, the time of every file that the pipeline packs."""
TEST_PATH = re.compile(
    r"(?i:(^|/)(unit_?)?tests?(ing|suite)?/)|(?i:(^|[/._-])(unit_?)?tests?[^/]*$)|[a-z0-9]Tests?\.\w+$"
)
"""Source files that hold tests; a guess by name, which only decides what is left out of a program that is broken anyway."""


@dataclass(frozen=True)
class Done:
    """How a command ended. `code`: negative for a signal; None where its time was up or it could not be started."""

    code: int | None
    output: str
    seconds: float
    timed_out: bool = False


class Workshop:
    """`source` is the copy of the workspace, `out` what a build system makes, `notes` what reporters write."""

    def __init__(self, workspace: Path, build: Mapping[str, Any], root: Path, fresh: Sequence[str] = ()) -> None:
        self.root = root
        self.system = str(build["system"])
        self.options = [str(option) for option in build.get("options", ())]
        self.targets = [str(target) for target in build.get("targets", ())]
        if root.exists():
            shutil.rmtree(root)
        self.source = root / "source"
        shutil.copytree(workspace, self.source, symlinks=True)
        if fresh:
            make_old(self.source, frozenset(fresh))
        self.folder = self.source / str(build.get("folder", "."))
        self.out = root / "out"
        self.notes = root / "notes"
        for made in (self.out, self.notes):
            made.mkdir()
        for path, system_folder in build.get("vendored", ()):
            self._stand_in(self.source / path, system_folder)
        self.jobs = max(1, min(4, len(os.sched_getaffinity(0))))

    def step(self, argv: Sequence[str], cwd: Path | None = None, **variables: str) -> int:
        """A command of the build; its output goes to the log. Returns its exit code, 127 where it cannot be started."""
        say(f"$ {' '.join(argv)}")
        environment = {**os.environ, "ENVMILL_COMPILER_LOG": str(self.notes / "compiler.jsonl"), **variables}
        try:
            return subprocess.run(list(argv), cwd=cwd or self.folder, env=environment, check=False).returncode
        except OSError as error:
            say(f"{argv[0]}: {error}")
            return 127

    def run_test(
        self,
        argv: Sequence[str],
        cwd: Path | None = None,
        variables: Mapping[str, str] | None = None,
        timeout_sec: float = TEST_TIMEOUT_SEC,
    ) -> Done:
        """One test program, by itself; all it started is ended with it where its time is up."""
        output = self.notes / "output"
        started = time.monotonic()
        with open(output, "w+b") as file:  # noqa: PTH123
            try:
                process = subprocess.Popen(
                    list(argv),
                    cwd=cwd or self.folder,
                    env={**os.environ, **(variables or {})},
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                return Done(None, str(error), 0.0)
            code, timed_out = None, False
            try:
                code = process.wait(timeout_sec)
            except subprocess.TimeoutExpired:
                timed_out = True
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            file.seek(0)
            said = file.read(MAX_OUTPUT).decode("utf-8", "replace")
        return Done(code, said, time.monotonic() - started, timed_out)

    def build(self, *steps: Sequence[str]) -> None:
        """Build what can be built. A test file that does not compile is emptied and the rest built again.

        So one file that asks for names the tree does not have takes its own tests with it, and not those of the other
        files of its program. It stays among the broken sources. A file that holds the program's `main` takes all.
        """
        emptied: set[str] = set()
        for _ in range(MAX_ROUNDS):
            codes = [self.step(argv) for argv in steps]
            broken = {path for path in self.broken_sources() if TEST_PATH.search(path)} - emptied
            if not any(codes) or not broken:
                return
            for path in sorted(broken):
                if (self.source / path).is_file():
                    say(f"{path} does not compile: built again without what is in it")
                    (self.source / path).write_bytes(b"")
            emptied |= broken

    def broken_sources(self) -> dict[str, str]:
        """Path of each source file, relative to the workspace, that did not compile, with the first error."""
        found: dict[str, str] = {}
        try:
            lines = (self.notes / "compiler.jsonl").read_text("utf-8").splitlines()
        except OSError:
            return found
        for line in lines:
            record = json.loads(line)
            for source in record["sources"]:
                path = self.relative(Path(record["folder"]) / source)
                if path:
                    found.setdefault(path, record["error"])
        return found

    def relative(self, path: Path) -> str:
        """A path relative to the copy of the workspace, or to what was built from it; empty for one elsewhere."""
        real = os.path.normpath(path)
        for base in (self.source, self.out):
            if real.startswith(f"{base}/"):
                return real[len(str(base)) + 1 :]
        return ""

    def is_ours(self, path: Path) -> bool:
        """Whether a program was built here."""
        return os.path.realpath(path).startswith(f"{os.path.realpath(self.root)}/")

    def _stand_in(self, path: Path, system_folder: str) -> None:
        path.mkdir(parents=True, exist_ok=True)
        if system_folder and Path(system_folder).is_dir() and not any(path.iterdir()):
            shutil.copytree(system_folder, path, dirs_exist_ok=True)


def make_old(folder: Path, fresh: frozenset[str]) -> None:
    """Give every file of a tree a time in the past, programs an earlier one; those that are `fresh` the present.

    So make takes no program that came with the tree for built: its sources are newer.
    """
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            if os.fspath(path.relative_to(folder)) in fresh:
                os.utime(path)
                continue
            with open(path, "rb") as file:  # noqa: PTH123
                when = OLD if file.read(4) == b"\x7fELF" else OLD + 60
            os.utime(path, (when, when))


def say(line: str) -> None:
    """A line of the log."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
