"""The process of the run is killed (-9) in each phase, one after the other, in one home; then it ends as if undisturbed.

Each kill is provably inside its phase: the process is frozen first, and only then looked at.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from blocks.catalog import compare
from blocks.engine import Engine
from blocks.lake import PhaseKey
from blocks.lake.file import FileStore
from blocks.lake.lease import LeaseRecord
from blocks.phases import load_chain
from blocks.records import Phase
from flows.abandoned import LABEL
from flows.pipeline import DEFINITIONS
from tests.flows.api import Api
from tests.flows.command import SAMPLE_CONFIG, Command, containers_of
from tests.flows.conftest import Demo

pytestmark = [pytest.mark.engine, pytest.mark.prefect, pytest.mark.slow]

Process = subprocess.Popen[str]
ROLES = {
    Phase.ARCHAEOLOGY: "subject",
    Phase.CONTAINERIZE: "build",
    Phase.SYNTHESIS: "grader",
    Phase.CAPTURE: "subject",
}
"""Which container must be running when a phase is cut off; phases without any are cut off while they hold their lease."""


@dataclass
class Cut:
    """A home in which run after run is killed."""

    command: Command
    engine: Engine
    pids: list[int] = field(default_factory=list)

    @property
    def lake(self) -> Path:
        return self.command.home / "lake"

    @property
    def store(self) -> FileStore:
        return FileStore(self.lake)

    def manifests(self) -> dict[Path, tuple[int, bytes]]:
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in self.lake.rglob("manifest.json")}

    def committed(self) -> set[str]:
        return {path.parent.parent.name for path in self.manifests() if path.parts[-5] == "candidates"}

    def kill_in(self, phase: Phase) -> None:
        """Start a run, wait until it is in the phase, freeze it, see that it is, kill it."""
        deadline = time.monotonic() + 90
        with self.command.started("run") as process, _obstacle(phase, self.lake):
            self.pids.append(process.pid)
            while not self._is_in(phase, process):
                assert process.poll() is None, (
                    f"{phase}: the run ended before it could be cut off: {process.communicate()}"
                )
                assert time.monotonic() < deadline, f"{phase}: not reached"
                time.sleep(0.002)
            os.kill(process.pid, signal.SIGSTOP)
            assert self._is_in(phase, process), f"{phase}: the run had left it before it was frozen"
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=30)

    def _is_in(self, phase: Phase, process: Process) -> bool:
        if phase.value in self.committed():
            return False
        if phase is Phase.INGEST:
            return bool(list(self.lake.glob(f".~unfinished/*-{process.pid}-*")))
        if phase is Phase.PUBLISH:
            return bool(list(self.command.home.glob("releases/*.partial")))
        key = self.pending()
        if key is None or key.phase is not phase or not self._is_held(key, process):
            return False
        running = {row["Labels"]["envmill.role"] for row in containers_of(self.engine, process.pid)}
        return phase not in ROLES or ROLES[phase] in running

    def pending(self) -> PhaseKey | None:
        found = [path.name for path in self.lake.glob("candidates/*")]
        return load_chain(self.store, self.command.settings(), found[0], DEFINITIONS)[1] if found else None

    def _is_held(self, key: PhaseKey, process: Process) -> bool:
        path = self.lake / "leases" / f"{key.input_key}.json"
        if not path.is_file():
            return False
        lease = LeaseRecord.model_validate_json(path.read_bytes())
        return lease.owner.pid == process.pid and not lease.released

    def left_over(self) -> list[str]:
        """What a killed run may leave and the next must have taken away."""
        containers = [row["Id"] for pid in self.pids for row in containers_of(self.engine, pid)]
        leases = [
            path.name
            for path in self.lake.glob("leases/*.json")
            if not LeaseRecord.model_validate_json(path.read_bytes()).released
        ]
        halves = [
            str(path.relative_to(self.command.home))
            for pattern in (".~*", "*.partial", ".latest-*", "rebuild-*")
            for path in self.command.home.rglob(pattern)
            if path.name != ".~unfinished"
        ]
        named = {
            folder.parent / entry["name"]
            for folder, (_, content) in self.manifests().items()
            for entry in _entries(content)
        }
        strays = [
            str(path.relative_to(self.lake))
            for scope in ("candidates", "contributions")
            for path in (self.lake / scope).rglob("*")
            if path.is_file() and path.name != "manifest.json" and path not in named
        ]
        return containers + leases + halves + strays


def _entries(manifest: bytes) -> list[dict[str, str]]:
    files: list[dict[str, str]] = json.loads(manifest)["files"]
    return files


@contextlib.contextmanager
def _obstacle(phase: Phase, lake: Path) -> Iterator[None]:
    """Ingest is over in no time: writers wait while somebody has the lake's lock, with a file half written."""
    if phase is not Phase.INGEST:
        yield
        return
    lake.mkdir(parents=True)
    handle = os.open(lake, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def test_a_run_killed_in_each_phase_ends_as_one_that_was_not(
    demo: Demo, api: Api, engine: Engine, tmp_path: Path
) -> None:
    command = Command(tmp_path / "home", {"ENVMILL_CONFIG": str(SAMPLE_CONFIG), "PREFECT_API_URL": api.url})
    cut = Cut(command, engine)
    done: list[str] = []
    for phase in Phase:
        before = cut.manifests()
        cut.kill_in(phase)
        assert cut.committed() == set(done), f"killed in {phase}"
        after = cut.manifests()
        assert {path: after[path] for path in before} == before, f"{phase}: the run before it did something twice"
        done.append(phase.value)
    before = cut.manifests()

    last = command("run")
    cut.pids.append(last.pid)

    assert last.code == 0, last.said
    assert [line.split("  ")[1] for line in last.out.splitlines() if "(reused)" in line] == done[:-1]
    after = cut.manifests()
    assert {path: after[path] for path in before} == before
    assert compare(demo.command.home / "catalog.duckdb", command.home / "catalog.duckdb") == []
    assert compare(demo.command.home / "catalog.duckdb", command.home / "catalog.duckdb", "history") == []
    assert cut.left_over() == []
    ended = {(run["name"], run["state_type"]) for run in _of_home(api, cut)}
    assert {state for _, state in ended} == {"COMPLETED", "CRASHED"}, ended


def _of_home(api: Api, cut: Cut) -> list[dict[str, Any]]:
    """Flow runs of the processes of this home."""
    found = api.ask("flow_runs", sort="START_TIME_DESC")
    return [run for run in found if _pid(run["labels"].get(LABEL, "")) in cut.pids]


def _pid(signature: str) -> int:
    return int(signature.split("-")[1]) if signature else 0
