"""A published Python 3.9 environment builds offline, although that release's own pip is too old to do it."""

import io
import uuid
from datetime import UTC, datetime

import pytest

from blocks.builder.foundations import foundation_of
from blocks.engine import ContainerSpec, Engine, Role
from blocks.lake import open_store
from blocks.settings import Settings
from blocks.trees import File, pack
from tasks.archaeology.python_stack import PythonPlanned, PythonStack
from tasks.archaeology.stack import Bench, Facts
from tasks.publish.environment import environment_files

pytestmark = [pytest.mark.engine, pytest.mark.slow]

PYPROJECT = (
    '[build-system]\nrequires = ["setuptools", "wheel"]\nbuild-backend = "setuptools.build_meta"\n'
    '[project]\nname = "kettle"\nversion = "1"\nrequires-python = "<3.11"\n[tool.setuptools]\npackages = ["kettle"]\n'
)


def test_the_vendored_pip_builds_it(engine: Engine, engine_settings: Settings) -> None:
    tree = {"pyproject.toml": File(content=PYPROJECT.encode()), "kettle/__init__.py": File()}
    planned = PythonStack().plan(tree, tree, Facts(datetime(2025, 6, 1, tzinfo=UTC), None, ()))
    assert isinstance(planned, PythonPlanned)
    store = open_store(engine_settings)
    runtime = foundation_of(planned.recipe).runtime_image(engine, engine_settings, planned.recipe)
    assert runtime is not None
    recipe = planned.fetch(Bench(engine, store, engine_settings, "c-0001"), runtime).recipe
    assert recipe is not None and recipe.installer is not None and recipe.installer.name == "pip"
    files = environment_files(recipe, tree, lambda sha256, name: store.get(f"packages/{sha256}/{name}"))
    assert b"debian:bullseye-slim" in files["Dockerfile"].content
    reference = f"envmill-test/publish:{uuid.uuid4().hex[:12]}"
    options = {"buildargs": {"BASE": runtime}, "network_mode": "none", "rm": True, "forcerm": True, "decode": True}
    tar = pack(files)
    try:
        stage = engine.api.build(
            fileobj=io.BytesIO(tar), custom_context=True, target="build", tag=f"{reference}-build", **options
        )
        assert not [line for line in stage if "error" in line]
        engine.build(tar, reference, buildargs={"BASE": runtime})
        with engine.container(ContainerSpec(image=reference, role=Role.SUBJECT, deadline_sec=100)) as box:
            probe = "import kettle, sys, importlib.metadata as m; print(*sys.version_info[:2], m.version('kettle'))"
            assert box.run(["python", "-c", probe], user="agent", timeout_sec=50).output.strip() == "3 9 1"
            assert "pip" not in box.run(["ls", "/opt/venv/bin", "/opt"], timeout_sec=50).output.split()
    finally:
        engine.remove_image(reference)
        engine.remove_image(f"{reference}-build")
