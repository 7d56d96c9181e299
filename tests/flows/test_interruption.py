"""A run that is killed or interrupted in the middle of archaeology leaves nothing behind, and the next one goes on."""

import os
import signal
from pathlib import Path

import pytest

from blocks.catalog import compare
from blocks.engine import Engine
from tests.flows.api import Api
from tests.flows.command import (
    SAMPLE_CONFIG,
    Command,
    containers_of,
    interrupt,
    servers_of,
    wait_for_tests,
    wait_until_gone,
)
from tests.flows.conftest import Demo

pytestmark = [pytest.mark.engine, pytest.mark.prefect, pytest.mark.slow]


def test_after_a_kill_the_next_run_gives_the_same_rows(demo: Demo, api: Api, engine: Engine, tmp_path: Path) -> None:
    killed = Command(tmp_path / "home", {"ENVMILL_CONFIG": str(SAMPLE_CONFIG)})
    with killed.started("run") as process:
        wait_for_tests(engine, process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
    left = containers_of(engine, process.pid)
    assert left, "the kill came too late to leave a container"
    wait_until_gone(killed.home)
    assert len(list((killed.home / "lake").rglob("archaeology/*/manifest.json"))) == 0

    again = Command(killed.home, {**killed.environment, "PREFECT_API_URL": api.url})
    done = again("run")

    assert done.code == 0, done.said
    assert [line.split("  ")[1] for line in done.out.splitlines() if "(reused)" in line] == ["ingest", "qualify"]
    assert compare(demo.command.home / "catalog.duckdb", again.home / "catalog.duckdb") == []
    committed = [path.parent.parent for path in (again.home / "lake").rglob("manifest.json")]
    assert len(committed) == len(set(committed)), "a phase was committed twice"
    assert containers_of(engine, process.pid) == containers_of(engine, done.pid) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_at_once_and_leaves_nothing(
    number: signal.Signals, python_image: str, engine: Engine, tmp_path: Path
) -> None:
    command = Command(tmp_path / "home", {"ENVMILL_CONFIG": str(SAMPLE_CONFIG)})
    with command.started("run") as process:
        wait_for_tests(engine, process)
        out, err = interrupt(process, number)

    assert process.returncode == 130, out + err
    assert "interrupted; run again to go on where it stopped" in err
    assert "Traceback" not in out + err
    assert containers_of(engine, process.pid) == []
    assert servers_of(command.home) == []
    assert not list((command.home / "lake").rglob("archaeology/*/manifest.json"))
