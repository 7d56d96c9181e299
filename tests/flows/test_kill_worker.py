"""A worker and the run it has begun are killed (-9): the next worker ends what nobody ended, and the next run finishes."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.catalog import compare
from blocks.engine import Engine
from blocks.lake.lease import LeaseRecord
from tests.flows.api import Api, prefect
from tests.flows.command import ROOT, SAMPLE_CONFIG, Command, containers_of
from tests.flows.conftest import Demo

pytestmark = [pytest.mark.engine, pytest.mark.prefect, pytest.mark.slow]


@contextlib.contextmanager
def worker(command: Command, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Prefect's own, as the documents say it is started."""
    argv = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "process"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv, cwd=ROOT, env=command.variables(), stdout=output, stderr=output, start_new_session=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def in_archaeology(command: Command, engine: Engine, log: Path) -> int:
    """Wait until a container of the run's tests is there; the process of the run."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for path in (command.home / "lake" / "leases").glob("*.json"):
            pid = LeaseRecord.model_validate_json(path.read_bytes()).owner.pid
            if any(row["Labels"]["envmill.role"] == "subject" for row in containers_of(engine, pid)):
                return pid
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_a_killed_worker(demo: Demo, deployed: Api, engine: Engine, tmp_path: Path) -> None:
    variables = {"ENVMILL_CONFIG": str(SAMPLE_CONFIG), "PREFECT_API_URL": deployed.url, "PREFECT_HOME": str(tmp_path)}
    command = Command(tmp_path / "home", variables)
    prefect(deployed, tmp_path, ["deployment", "run", "nightly/nightly"])
    with worker(command, tmp_path / "worker.log") as process:
        pid = in_archaeology(command, engine, tmp_path / "worker.log")
        process.kill()
        process.wait()
        os.kill(pid, signal.SIGKILL)
    assert containers_of(engine, pid)
    begun = unended(deployed, pid)
    assert {name.partition("-")[0] for name in begun} == {"nightly", "archaeology"}

    prefect(deployed, tmp_path, ["deployment", "run", "nightly/nightly"])
    again = command("worker", "--run-once")

    assert again.code == 0, again.said
    assert "2 abandoned flow runs ended" in again.out
    assert unended(deployed, pid) == []
    states = {run["name"]: (run["state_type"], run["state"]["message"]) for run in runs(deployed, pid)}
    for name in begun:
        assert states[name][0] == "CRASHED" and "the next run goes on from there" in states[name][1]
    assert {
        run["state_type"] for run in deployed.runs("nightly-") if run["deployment_id"] and run["name"] not in begun
    } == {"COMPLETED"}
    assert compare(demo.command.home / "catalog.duckdb", command.home / "catalog.duckdb", "history") == []
    assert containers_of(engine, pid) == []


def runs(api: Api, pid: int) -> list[dict[str, object]]:
    """Flow runs that say they are of this process."""
    found = api.ask("flow_runs", sort="START_TIME_DESC")
    return [run for run in found if f"-{pid}-" in str(run["labels"].get("envmill.owner", ""))]


def unended(api: Api, pid: int) -> list[str]:
    """Names of those that are still shown as running."""
    return [str(run["name"]) for run in runs(api, pid) if run["state_type"] in ("RUNNING", "PENDING")]
