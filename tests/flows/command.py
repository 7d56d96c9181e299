"""Runs the real command as a user would, and looks at what it leaves behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from blocks.engine import Engine
from blocks.settings import Settings, load_settings

ROOT = Path(__file__).parents[2]
SAMPLE_CONFIG = ROOT / "data" / "sample" / "envmill.toml"
ENVMILL = Path(sys.executable).parent / "envmill"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str
    pid: int

    @property
    def said(self) -> str:
        return self.out + self.err

    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Command:
    """`envmill` with a home of its own. No command may ever show a traceback, so every call looks for one."""

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, stdin: str = "") -> Done:
        with self.started(*arguments) as process:
            out, err = process.communicate(stdin, timeout=400)
        done = Done(process.returncode, out, err, process.pid)
        assert "Traceback" not in done.said, done.said
        return done

    @contextlib.contextmanager
    def started(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """The command while it runs, in a process group of its own."""
        process = subprocess.Popen(
            # A job in the background of a script ignores Ctrl-C, and so would what it starts.
            ["env", "--default-signal=INT", str(ENVMILL), *arguments],
            cwd=ROOT,
            env=self.variables(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ENVMILL_", "PREFECT_"))}
        return {**kept, "ENVMILL_HOME": str(self.home), **self.environment}

    def settings(self) -> Settings:
        """The settings the command has."""
        with mock.patch.dict(os.environ, self.variables(), clear=True):
            return load_settings()

    def rows(self, query: str) -> list[dict[str, Any]]:
        done = self("sql", query, "--json")
        assert done.code == 0, done.said
        rows = done.json()
        assert isinstance(rows, list)
        return rows


def interrupt(process: "subprocess.Popen[str]", number: signal.Signals) -> tuple[str, str]:
    """Send a signal as a terminal (Ctrl-C: to the whole group) or a service manager (to the process) does, and wait."""
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    return process.communicate(timeout=90)


def containers_of(engine: Engine, pid: int) -> list[dict[str, Any]]:
    """Containers that a process started and that are still there."""
    rows = engine.api.containers(all=True, filters={"label": "envmill.owner"})
    return [row for row in rows if f'"pid": {pid},' in row["Labels"]["envmill.owner"]]


@contextlib.contextmanager
def watched_starts(engine: Engine) -> Iterator[Callable[[Done], int]]:
    """Listens to the engine while the body runs; gives how many containers a command started.

    It remembers few events, and every command in a container is some: so they must be heard as they happen.
    """
    stream = engine.api.events(filters={"event": "start", "label": "envmill.owner"}, decode=True)
    owners: list[str] = []

    def listen() -> None:
        for event in stream:
            owners.append(event["Actor"]["Attributes"]["envmill.owner"])

    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    try:
        yield lambda done: sum(f'"pid": {done.pid},' in owner for owner in owners)
    finally:
        stream.close()
        listening.join(10)


def wait_for_tests(engine: Engine, process: "subprocess.Popen[str]") -> None:
    """Wait until a container in which the repository's tests run is there: the middle of archaeology."""
    wait_for_role(engine, process, "subject")


def wait_for_role(engine: Engine, process: "subprocess.Popen[str]", role: str) -> None:
    """Wait until the process has a running container of this role."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if any(
            (row["Labels"]["envmill.role"], row["State"]) == (role, "running")
            for row in containers_of(engine, process.pid)
        ):
            return
        time.sleep(0.02)
    raise AssertionError(f"no container of role {role} within two minutes")


def servers_of(home: Path) -> list[int]:
    """Processes of Prefect servers that keep their data in this home."""
    wanted = f"PREFECT_HOME={(home / 'prefect').absolute()}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes()
                if b"server\0start" in command and wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def wait_until_gone(home: Path) -> None:
    """Wait until no server of this home is left."""
    deadline = time.monotonic() + 40
    while servers_of(home):
        assert time.monotonic() < deadline, f"servers that outlived their run: {servers_of(home)}"
        time.sleep(0.2)
