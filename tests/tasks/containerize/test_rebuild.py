"""A published environment, built again from its files without a network, gives what was recorded."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from blocks.catalog import index
from blocks.engine import ContainerSpec, Engine, Network, Role
from blocks.engine.raw import inspect_image
from blocks.errors import PermanentError, UsageError
from blocks.records import EnvironmentRow, FailureKind, Phase
from blocks.trees import overlay, pack, unpack_bytes
from blocks.vectors import TestResult, TestStatus, TestVector
from flows.cli import app
from flows.commands.rebuild import rebuild_published
from tasks.containerize.rebuild import built_again, check_state, read_folder
from tasks.publish.phase import publish
from tests.tasks.pipeline import CANDIDATE, Candidate
from tests.tasks.projects import FIX
from tests.trees import tree

INSTALLERS = re.compile(
    r"^/opt/venv/(\.gitignore|\.lock|CACHEDIR\.TAG|include(/.*)?|bin/(de)?activate(_this\.py|\.\w+)?|bin/Activate\.ps1"
    r"|bin/pydoc\.bat)$"
)
"""What venv makes and uv does not, or the other way round."""


@pytest.fixture(scope="module")
def task(verified: Candidate) -> Iterator[Path]:
    """The folder of the published Harbor task."""
    before, workshop = verified.chain, verified.workshop
    try:
        verified.commit(Phase.CAPTURE, [], {})
        made = publish(workshop.store, workshop.settings, [verified.chain], {})
        index(workshop.store, workshop.settings)
    finally:
        verified.chain = before
    (folder,) = (Path(made.folder) / "harbor" / "tasks").iterdir()
    yield folder


def look(engine: Engine, image: str) -> tuple[dict[str, object], dict[str, str]]:
    """Configuration of an image, and owner, group, mode and kind of everything below /app and /opt."""
    config = inspect_image(engine.api, image)["Config"]
    wanted = ("User", "WorkingDir", "StopSignal")
    found: dict[str, object] = {name: config[name] for name in wanted} | {"Env": set(config["Env"])}
    with engine.container(ContainerSpec(image=image, role=Role.BUILD, deadline_sec=60)) as box:
        listed = "find /app /opt /home/agent -printf '%u %g %m %y\\t%p\\n' > /root/list"
        assert box.run(["sh", "-c", listed], timeout_sec=60).ok
        lines = (box.get_file("/root/list", max_bytes=16 << 20) or b"").decode().splitlines()
    return found, {path: kind for kind, _, path in (line.partition("\t") for line in lines)}


@pytest.mark.engine
@pytest.mark.slow
def test_the_published_image_is_the_pipeline_s(verified: Candidate, python_image: str, task: Path) -> None:
    """Same configuration; same places, owners and modes. What differs is by which installer, pip or uv."""
    engine = verified.workshop.engine
    ours = look(engine, verified.chain.row(Phase.CONTAINERIZE, EnvironmentRow).image)
    reference = f"envmill-test/rebuilt:{engine.owner.pid}"
    with built_again(
        engine, read_folder(task / "environment"), reference, base=python_image, network=Network.NONE
    ) as image:
        theirs = look(engine, image)
    assert engine.image_id(reference) is None
    assert theirs[0] == ours[0]
    assert [path for path in sorted(ours[1].keys() ^ theirs[1].keys()) if not INSTALLERS.search(path)] == []
    common = ours[1].keys() & theirs[1].keys()
    assert len(common) > 200
    assert [(path, ours[1][path], theirs[1][path]) for path in common if ours[1][path] != theirs[1][path]] == []


@pytest.mark.engine
@pytest.mark.slow
def test_rebuild(verified: Candidate, task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says equal; and not equal, with exit code 1, where a published file gives another environment."""
    monkeypatch.setenv("ENVMILL_HOME", str(verified.workshop.settings.home))
    monkeypatch.setenv("ENVMILL_GATES__REPEATS", "1")
    done = CliRunner().invoke(app, ["rebuild", CANDIDATE[:8], "--offline", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    assert (said["candidate_id"], said["equal"], said["offline"]) == (CANDIDATE, True, True)
    states = {state["kind"]: (state["reward"], state["tests"], state["differences"]) for state in said["states"]}
    assert states == {"nop": (0, 2, []), "oracle": (1, 2, [])}
    assert not verified.workshop.engine.api.images(name="envmill/rebuilt"), "nothing is left behind"

    archive = task / "environment" / "workspace.tar"
    original = archive.read_bytes()
    try:
        archive.write_bytes(
            pack(overlay(unpack_bytes(original), tree({"src/kettle/core.py": FIX})), uid=1000, gid=1000)
        )
        done = CliRunner().invoke(app, ["rebuild", task.name, "--offline"])
    finally:
        archive.write_bytes(original)
    assert done.exit_code == 1
    assert "not equal" in done.output
    assert "nop: tests/test_core.py::test_a_litre: recorded failed, assertion, now passed" in done.output


@pytest.mark.engine
def test_nothing_of_this_name(verified: Candidate, task: Path) -> None:
    with pytest.raises(UsageError, match="nobody: 0 published"):
        rebuild_published(verified.workshop, "nobody", offline=True)
    with pytest.raises(PermanentError, match="not there"):
        read_folder(task / "elsewhere")
    (task / "solution" / "link").symlink_to("solve.sh")
    try:
        with pytest.raises(PermanentError, match="not a regular file"):
            read_folder(task / "solution")
    finally:
        (task / "solution" / "link").unlink()


def test_states_are_compared_test_by_test() -> None:
    def vector(**results: TestResult) -> TestVector:
        return TestVector(results=results, complete=True)

    passed = TestResult(status=TestStatus.PASSED, seconds=1)
    failed = TestResult(status=TestStatus.FAILED, failure_kind=FailureKind.ASSERTION)
    other = TestResult(status=TestStatus.FAILED, failure_kind=FailureKind.IMPORT)
    recorded = vector(a=passed, b=failed, c=passed)
    again = vector(a=passed.model_copy(update={"seconds": 2.0}), b=failed, c=passed)
    assert check_state("nop", recorded, 0.0, again, 0.0).is_equal
    assert not check_state("nop", recorded, 0.0, again, 1.0).is_equal
    check = check_state("nop", recorded, 0.0, vector(a=passed, b=other, d=passed), 0.0)
    assert [(item.test_id, item.recorded, item.now) for item in check.differences] == [
        ("b", "failed, assertion", "failed, import"),
        ("c", "passed", "absent"),
        ("d", "absent", "passed"),
    ]
    assert check_state("nop", recorded, 0.0, vector(a=passed, b=failed), 0.0, frozenset({"c"})).is_equal
