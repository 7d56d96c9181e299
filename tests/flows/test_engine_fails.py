"""An engine that runs out of disk, and one that is killed (-9) in the middle: of the test's own, on a disk of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.engine import Engine
from blocks.engine.reaper import OWNER
from tests.dockerd import Dockerd, copy_images, own_dockerd, small_disk
from tests.flows.api import Api
from tests.flows.command import SAMPLE_CONFIG, Command, wait_for_role
from tests.flows.conftest import Demo
from tests.flows.undisturbed import crashes, differences

pytestmark = [pytest.mark.engine, pytest.mark.prefect, pytest.mark.slow]

DISK_MB = 2000
LEFT_MB = 6


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with small_disk(tmp_path_factory.mktemp("engine"), DISK_MB) as place:
        yield place


@pytest.fixture(scope="module")
def daemon(
    disk: Path, engine: Engine, base_image: str, python_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Dockerd]:
    # Sockets have short names: not below pytest's folders.
    with own_dockerd(disk / "data", Path(tmp_path_factory.mktemp("run"))) as started:
        copy_images(engine, started.engine(), [base_image, python_image])
        yield started


@pytest.fixture(scope="module")
def command(daemon: Dockerd, demo: Demo, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A home that has the demo's packages: nothing in this engine reaches the outside."""
    home = tmp_path_factory.mktemp("cut") / "home"
    for folder in ("packages", "resolutions"):
        shutil.copytree(demo.command.home / "lake" / folder, home / "lake" / folder)
    variables = {
        "ENVMILL_CONFIG": str(SAMPLE_CONFIG),
        "PREFECT_API_URL": api.url,
        "ENVMILL_ENGINE__HOST": daemon.host,
    }
    return Command(home, variables)


def test_a_full_disk_is_no_verdict(command: Command, daemon: Dockerd, disk: Path) -> None:
    ballast = disk / "ballast"
    free = shutil.disk_usage(disk).free
    with ballast.open("wb") as stream:
        for _ in range((free >> 20) - LEFT_MB):
            stream.write(bytes(1 << 20))

    full = command("run")

    assert full.code == 1, full.said
    assert "the engine's disk is full: remove images or make it larger" in full.out
    committed = {path.parent.parent.name for path in (command.home / "lake" / "candidates").rglob("manifest.json")}
    assert committed == {"ingest", "qualify"}
    [message] = crashes(command.home)
    assert "disk is full" in message
    assert command.rows("SELECT status FROM candidates") == [{"status": "qualified"}]
    assert _containers(daemon) == []
    ballast.unlink()


def test_a_killed_engine_is_waited_for(command: Command, daemon: Dockerd, demo: Demo, tmp_path: Path) -> None:
    """Goes on where the full disk stopped the run before."""
    with command.started("run") as process:
        for role in ("subject", "build"):  # archaeology tests, containerize installs
            wait_for_role(daemon.engine(), process, role)
            daemon.kill()
            daemon.start()
        out, err = process.communicate(timeout=300)

    assert process.returncode == 0, out + err
    assert "Traceback" not in out + err
    assert differences(demo.command.home, command.home, tmp_path) == []
    assert all("engine" in message or "container" in message for message in crashes(command.home))
    assert _containers(daemon) == []


def _containers(daemon: Dockerd) -> list[str]:
    return [row["Id"] for row in daemon.engine().api.containers(all=True, filters={"label": OWNER})]
