"""The published Dockerfile builds from the published files alone: no network, no index."""

import io
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from blocks.engine import ContainerSpec, Engine, Role
from blocks.trees import pack
from tasks.publish.harbor import harbor_task
from tests.tasks.publish.buildable import START, buildable_member, load_backend

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@contextmanager
def built_image(engine: Engine, base: str, **recipe: object) -> Iterator[str]:
    """An image built from the published environment/ folder; removed afterwards."""
    reference = f"envmill-test/publish:{uuid.uuid4().hex[:12]}"
    task = harbor_task(buildable_member(reference, **recipe), load_backend, "org")
    context = {
        path.removeprefix("environment/"): file for path, file in task.items() if path.startswith("environment/")
    }
    tar, stage = pack(context), f"{reference}-build"
    try:
        # The first stage by itself, under a name, so that it can be removed: a builder leaves it behind without one.
        options = {"buildargs": {"BASE": base}, "network_mode": "none", "rm": True, "forcerm": True, "decode": True}
        lines = list(
            engine.api.build(fileobj=io.BytesIO(tar), custom_context=True, target="build", tag=stage, **options)
        )
        assert not [line for line in lines if "error" in line], lines[-5:]
        engine.build(tar, reference, buildargs={"BASE": base})
        yield reference
    finally:
        engine.remove_image(reference)
        engine.remove_image(stage)


@pytest.mark.parametrize("install", ["editable", "path"])
def test_the_published_environment_builds_without_a_network(engine: Engine, python_image: str, install: str) -> None:
    with (
        built_image(engine, python_image, install=install) as reference,
        engine.container(ContainerSpec(image=reference, role=Role.SUBJECT, deadline_sec=120)) as box,
    ):
        probe = "import calc, importlib.metadata as m, os; print(calc.add(5, 3), m.version('calc'), os.environ['CALC_MODE'])"
        seen = box.run(["python", "-c", probe], user="agent", timeout_sec=60)
        assert seen.output.strip() == '2 0.1.0 a "b" $HOME \\'
        foreign = box.run(["find", "/app", "!", "-user", "agent"], timeout_sec=60)
        assert foreign.output == ""
        assert box.run(["find", "/opt/venv", "!", "-user", "root"], timeout_sec=60).output == ""
        leftovers = box.run(["ls", "/tmp", "/opt"], timeout_sec=60).output.split()
        assert leftovers == ["/opt:", "venv", "/tmp:"]
        workspace = box.get_tree("/app", max_bytes=1 << 20)
        assert {path: file for path, file in workspace.items() if path in START} == START
        extra = {path for path in workspace if path not in START and "__pycache__" not in path}
        assert extra == ({"generated.txt"} if install == "editable" else set())
