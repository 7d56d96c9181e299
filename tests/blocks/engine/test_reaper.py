"""What a killed process leaves behind is found and removed; what others use is not."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from docker.errors import NotFound

from blocks.engine import ContainerSpec, Engine, Owner, Role
from blocks.errors import ServiceMissingError
from blocks.settings import EngineSettings

pytestmark = pytest.mark.engine

CHILD = """
import sys
from blocks.engine import ContainerSpec, Engine, Owner, Role
from blocks.settings import EngineSettings

engine = Engine.connect(EngineSettings(), Owner.current("flow-1"))
container = engine.container(ContainerSpec(image=sys.argv[1], role=Role.SUBJECT, deadline_sec=300))
print(container.id, flush=True)
input()
"""


def exists(engine: Engine, container_id: str) -> bool:
    try:
        engine.api.inspect_container(container_id)
    except NotFound:
        return False
    return True


def test_only_dead_owners_containers_are_removed(engine: Engine, base_image: str) -> None:
    root = Path(__file__).parents[3]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, base_image], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout
    orphan = child.stdout.readline().strip()
    assert len(orphan) == 64
    stranger = engine.api.create_container(base_image, ["sleep", "60"], labels={"someone": "else"})["Id"]
    try:
        with engine.container(ContainerSpec(image=base_image, role=Role.SUBJECT, deadline_sec=300)) as own:
            labels = engine.api.inspect_container(orphan)["Config"]["Labels"]
            assert json.loads(labels["envmill.owner"])["pid"] == child.pid
            assert (labels["envmill.role"], labels["envmill.flow_run"]) == ("subject", "flow-1")
            engine.reap()
            assert exists(engine, orphan), "its owner lives"
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            assert engine.reap() >= 1
            assert not exists(engine, orphan)
            assert exists(engine, own.id)
            assert exists(engine, stranger)
            assert own.run(["echo", "in use"], timeout_sec=10).ok
        assert not exists(engine, own.id)
    finally:
        engine.api.remove_container(stranger, force=True)
        if child.poll() is None:
            child.kill()
        child.communicate()


def test_leaving_with_an_error_removes_the_container(engine: Engine, base_image: str) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        engine.container(ContainerSpec(image=base_image, role=Role.SUBJECT, deadline_sec=300)) as container,
    ):
        raise KeyboardInterrupt
    assert not exists(engine, container.id)


def test_no_engine_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ServiceMissingError, match=r"nobody\.sock.*make setup.*ENVMILL_ENGINE__HOST"):
        Engine.connect(EngineSettings(host=f"unix://{tmp_path}/nobody.sock"), Owner.current())
