"""A place where hostile repositories are dug up: the real engine, small limits, short deadlines."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blocks.engine import Engine
from blocks.engine.reaper import OWNER
from blocks.lake import ObjectStore, open_store
from blocks.settings import EngineSettings, GateSettings, Settings, TimeoutSettings
from tasks.archaeology.reconstruct import Reconstruction, reconstruct
from tests.tasks.projects import Project, publish, src_layout

Dig = Callable[[Project], Reconstruction]

LIMITS = EngineSettings(memory_mb=384, pids=80, written_mb=64, log_mb=1, cpus=1)
TIMEOUTS = TimeoutSettings(install_sec=12, tests_sec=8)


@pytest.fixture(scope="session")
def place(engine: Engine, python_image: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, ObjectStore]:
    """Settings with small limits, and a store in which the packages of an honest project lie already."""
    home = tmp_path_factory.mktemp("isolation")
    usual = Settings(home=home, gates=GateSettings(repeats=1))
    store = open_store(usual)
    found = publish(home / "honest", src_layout())
    honest = reconstruct(
        engine, store, usual, found.repository, candidate_id="c-h", start_commit=found.start, end_commit=found.end
    )
    assert honest.comparison is not None, honest.message
    return usual.model_copy(update={"engine": LIMITS, "timeouts": TIMEOUTS}), store


@pytest.fixture
def small(engine: Engine, place: tuple[Settings, ObjectStore]) -> Iterator[Engine]:
    """The engine with small limits; nothing of what it started is left after the test, and it still answers."""
    made = Engine(engine.api, LIMITS, engine.owner)
    yield made
    left = [row["Id"] for row in made.api.containers(all=True, filters={"label": OWNER}) if _is_ours(row, engine)]
    assert left == []
    assert made.describe().startswith("Docker")


@pytest.fixture
def dig(small: Engine, place: tuple[Settings, ObjectStore], tmp_path: Path) -> Dig:
    """Archaeology of a project, as the pipeline does it."""
    settings, store = place

    def doing(project: Project) -> Reconstruction:
        found = publish(tmp_path / "repository", project)
        return reconstruct(
            small,
            store,
            settings,
            found.repository,
            candidate_id="c-0",
            start_commit=found.start,
            end_commit=found.end,
        )

    return doing


def _is_ours(row: dict[str, dict[str, str]], engine: Engine) -> bool:
    label = row["Labels"][OWNER]
    if not label:  # a step of somebody's image build: it has the labels of its image, which are empty
        return False
    owner = json.loads(label)
    return (owner["pid"], owner["start_ticks"]) == (engine.owner.pid, engine.owner.start_ticks)
