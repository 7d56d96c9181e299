"""The real Harbor on the task that the demo published: the same rewards, no finding, valid trajectories."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.flows.command import ROOT
from tests.flows.conftest import Demo

PYTHON = ROOT / ".cache" / "peers" / "venv" / "bin" / "python"

pytestmark = [
    pytest.mark.engine,
    pytest.mark.prefect,
    pytest.mark.slow,
    pytest.mark.peers,
    pytest.mark.skipif(not PYTHON.exists(), reason="harbor is not installed here; run: make peers"),
]


def harbor(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "setup" / "harbor.sh"), *arguments]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, cwd=cwd, env=environment, text=True, capture_output=True, check=False, timeout=300)


def released(demo: Demo) -> Path:
    return (demo.command.home / "releases" / "latest").resolve()


def task_of(demo: Demo) -> Path:
    [task] = (released(demo) / "harbor" / "tasks").iterdir()
    return task


@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_harbor_gives_the_same_reward_without_a_network(demo: Demo, tmp_path: Path, agent: str, reward: float) -> None:
    done = harbor(
        "run", "-p", str(task_of(demo)), "-a", agent, "-o", str(tmp_path), "-y", "-q", "--job-name", "j", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results = [json.loads(path.read_text()) for path in (tmp_path / "j").glob("*/result.json")]
    assert [result["verifier_result"]["rewards"] for result in results] == [{"reward": reward}]
    assert results[0]["verifier_environment_mode"] == "separate"


def test_harbor_finds_nothing_to_say_about_the_task(demo: Demo, tmp_path: Path) -> None:
    done = harbor("lint", str(task_of(demo)), cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_trajectories_are_valid(demo: Demo) -> None:
    files = sorted((released(demo) / "trajectories").glob("*/*.json"))
    assert [file.stem for file in files] == ["nop", "oracle", "replay"]
    for file in files:
        done = subprocess.run(
            [str(PYTHON), "-m", "harbor.utils.trajectory_validator", str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-1000:]
