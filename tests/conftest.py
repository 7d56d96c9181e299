"""What every test may ask for: the container engine of this machine and the image that runs Python."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.engine import Engine, Owner, ensure_base, ensure_python_runtime
from blocks.errors import ServiceMissingError
from blocks.settings import Settings
from tests.s3server import s3_server

__all__ = ["s3_server"]

TESTS = Path(__file__).parent
DEEP = (
    "flows/test_engine_fails.py",
    "flows/test_full_disk.py",
    "flows/test_kill_flow.py",
    "flows/test_kill_worker.py",
    "flows/test_store_outage.py",
    "isolation",
    "tasks/archaeology/node",
    "tasks/archaeology/cpp",
    "tasks/archaeology/test_repair.py",
    "tasks/containerize/test_rebuild.py",
    "tasks/containerize/test_determinism.py",
    "tasks/containerize/test_layers.py",
    "tasks/publish/test_build.py",
    "peers",
)
"""Where the engine builds many kinds of projects, or hostile ones, or whole runs are cut off: `make test-deep`, which CI runs
after `make test`."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is deep."""
    places = [TESTS / place for place in DEEP]
    for item in items:
        if item.get_closest_marker("engine") and any(
            item.path == place or place in item.path.parents for place in places
        ):
            item.add_marker("deep")


@pytest.fixture(scope="session")
def engine_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of this machine's engine, with a home of the tests' own."""
    return Settings(home=tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def engine(engine_settings: Settings) -> Iterator[Engine]:
    """The engine of this machine. Where none answers: a failure in CI, a skip elsewhere."""
    try:
        connected = Engine.connect(engine_settings.engine, Owner.current())
    except ServiceMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    yield connected
    ours = f'"pid": {os.getpid()},'
    left = [
        row["Id"]
        for row in connected.api.containers(all=True, filters={"label": "envmill.owner"})
        if ours in row["Labels"]["envmill.owner"]
    ]
    assert not left, f"tests of this process left containers behind: {left}"


@pytest.fixture(scope="session")
def base_image(engine: Engine, engine_settings: Settings) -> str:
    """Reference of the base image."""
    return ensure_base(engine, engine_settings)


@pytest.fixture(scope="session")
def python_image(engine: Engine, engine_settings: Settings) -> str:
    """Reference of the Python runtime image."""
    reference = ensure_python_runtime(engine, engine_settings)
    assert reference is not None
    return reference
