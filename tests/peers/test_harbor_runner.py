"""The real Harbor agrees with what is published. Needs `make peers`; skipped, with the reason, where it was not run."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.engine import Engine
from blocks.trees import Tree
from tasks.capture.atif import session_trajectory
from tasks.publish.digest import task_digest
from tasks.publish.release import release
from tests.tasks.capture.test_atif import A_SESSION
from tests.tasks.publish.buildable import buildable_member, load_backend
from tests.tasks.publish.members import a_member, load_wheel
from tests.tasks.publish.test_build import built_image
from tests.tasks.publish.test_release import DAY, NUMBERS

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".cache" / "peers" / "venv" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="harbor is not installed here; run: make peers"),
]


def harbor(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "COLUMNS": "200"}
    command = [str(ROOT / "setup" / "harbor.sh"), *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, text=True, capture_output=True, check=False, timeout=300)


def harbor_python(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [str(PYTHON), "-c", script, *arguments], text=True, capture_output=True, check=True, timeout=120
    )
    return done.stdout.strip()


def write(tree: Tree, root: Path) -> None:
    for path, file in tree.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)


@pytest.fixture(scope="module")
def published(engine: Engine, python_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A release whose one task names an image that was built from its own published files."""
    folder = tmp_path_factory.mktemp("release")
    with built_image(engine, python_image) as reference:
        made = release([buildable_member(reference)], load_backend, "org", day=DAY, numbers=NUMBERS)
        write(made.tree, folder)
        yield folder


def run(published: Path, agent: str, jobs: Path) -> tuple[float, Path]:
    """Reward and folder of one trial."""
    done = harbor(
        "run",
        "-p",
        str(published / "harbor" / "tasks"),
        "-a",
        agent,
        "-o",
        str(jobs),
        "--job-name",
        "job",
        "-y",
        "-q",
        cwd=jobs,
    )
    results = list((jobs / "job").glob("*/result.json"))
    assert done.returncode == 0 and len(results) == 1, done.stdout[-3000:] + done.stderr[-3000:]
    result = json.loads(results[0].read_text())
    assert result["exception_info"] is None
    assert result["verifier_environment_mode"] == "separate"
    return result["verifier_result"]["rewards"]["reward"], results[0].parent


@pytest.mark.engine
@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_the_runner_gives_the_reward_with_the_network_off(
    published: Path, tmp_path: Path, agent: str, reward: float
) -> None:
    assert run(published, agent, tmp_path)[0] == reward


@pytest.mark.engine
def test_an_agent_sees_neither_network_nor_tests_and_cannot_write_its_reward(published: Path, tmp_path: Path) -> None:
    reward, trial = run(published, "spy:Spy", tmp_path)
    assert reward == 0.0
    assert (trial / "artifacts" / "app" / "seen.txt").read_text().split() == ["agent", "/app", "lo"]


@pytest.mark.engine
def test_the_linter_has_nothing_to_say(published: Path) -> None:
    tasks = [str(path) for path in (published / "harbor" / "tasks").iterdir()]
    done = harbor("lint", *tasks, "--json", cwd=published)
    assert done.returncode == 0, done.stdout + done.stderr


def test_digests_indexes_and_trajectories_are_what_harbor_reads(tmp_path: Path) -> None:
    member = a_member()
    made = release([member], load_wheel, "org", day=DAY, numbers=NUMBERS)
    write(made.tree, tmp_path)
    task = tmp_path / made.members[0].path
    script = """
import sys
from pathlib import Path
from harbor.models.dataset.manifest import DatasetManifest
from harbor.models.registry import Registry
from harbor.publisher.packager import Packager
root = Path(sys.argv[1])
manifest = DatasetManifest.from_toml_file(root / "harbor" / "dataset.toml")
assert [spec.version for spec in Registry.from_path(root / "harbor" / "registry.json").datasets] == [sys.argv[3]]
assert [task.digest for task in manifest.tasks] == ["sha256:" + Packager.compute_content_hash(Path(sys.argv[2]))[0]]
print(manifest.tasks[0].digest)
"""
    prefix = f"harbor/tasks/{member.task_id}/"
    tree = {path.removeprefix(prefix): file for path, file in made.tree.items() if path.startswith(prefix)}
    assert harbor_python(script, str(tmp_path), str(task), made.version) == task_digest(tree)


def test_the_trajectory_validator_accepts_sessions_and_runs_without_a_model(tmp_path: Path) -> None:
    files = dict(a_member().trajectories) | {"session": session_trajectory(A_SESSION, consent_scopes=["trajectory"])}
    for name, content in files.items():
        path = tmp_path / f"{name}.json"
        path.write_bytes(content)
        command = [str(PYTHON), "-m", "harbor.utils.trajectory_validator", str(path)]
        checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    path.write_bytes(content.replace(b'"tool_call_id": "c1"', b'"tool_call_id": "c9"'))
    assert subprocess.run(command, capture_output=True, check=False, timeout=120).returncode != 0
