"""A lake on a disk that is full: said plainly, nothing half committed; with room again the next run finishes."""

import json
import subprocess
from pathlib import Path

import pytest

from blocks.engine import Engine
from tests.dockerd import small_disk
from tests.flows.api import Api
from tests.flows.command import SAMPLE_CONFIG, Command, containers_of
from tests.flows.conftest import Demo
from tests.flows.undisturbed import differences

pytestmark = [pytest.mark.engine, pytest.mark.prefect, pytest.mark.slow]

SMALL_MB, LARGE_MB = 2, 200
"""What the sample's lake takes is in between; how far a run comes with the small one is archaeology."""


def test_a_lake_without_room(demo: Demo, api: Api, engine: Engine, tmp_path: Path) -> None:
    with small_disk(tmp_path, SMALL_MB, "tmpfs") as disk:
        variables = {
            "ENVMILL_CONFIG": str(SAMPLE_CONFIG),
            "PREFECT_API_URL": api.url,
            "ENVMILL_LAKE": (disk / "lake").as_uri(),
        }
        command = Command(tmp_path / "home", variables)

        full = command("run")

        assert full.code == 1, full.said
        assert "No space left on device; make room in the folder that ENVMILL_LAKE names" in " ".join(full.said.split())
        assert containers_of(engine, full.pid) == []
        committed = list((disk / "lake").rglob("manifest.json"))
        for path in committed:
            for entry in json.loads(path.read_bytes())["files"]:
                assert (path.parent / entry["name"]).stat().st_size == entry["size_bytes"]
        assert not [path for path in committed if "archaeology" in path.parts]
        assert not list((disk / "lake" / ".~unfinished").iterdir())

        subprocess.run(["mount", "-o", f"remount,size={LARGE_MB}m", str(disk)], check=True)
        done = command("run")

        assert done.code == 0, done.said
        assert differences(demo.command.home, command.home, tmp_path) == []
        assert not list((disk / "lake" / ".~unfinished").iterdir())
