"""Resolving against the real index: what is source only is built apart, what is the project's own is never fetched."""

from datetime import UTC, datetime

import pytest

from blocks.engine import Engine
from blocks.lake import ObjectStore, open_store
from blocks.settings import Settings
from tasks.archaeology.python_stack import only_package
from tasks.archaeology.resolve import Attempt, Resolved, resolve

THEN = datetime(2025, 6, 15, tzinfo=UTC)


@pytest.fixture
def store(engine_settings: Settings) -> ObjectStore:
    return open_store(engine_settings)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("source_allowed", [False, True])
def test_the_projects_own_releases_are_never_fetched(
    engine: Engine, store: ObjectStore, engine_settings: Settings, python_image: str, source_allowed: bool
) -> None:
    """Pytest needs iniconfig. For iniconfig itself, and under any spelling, its releases stay out; as source too."""

    def names(project: str | None, *requirements: str) -> set[str]:
        way = Attempt("by hand", requirements, THEN, source_allowed)
        found: Resolved = resolve(
            engine,
            store,
            engine_settings,
            candidate_id="c",
            runtime_image=python_image,
            runtime="3.11",
            project=project,
            ways=[way],
        )
        assert found.attempt is not None, found.failure
        return {package.name for package in found.packages}

    assert "iniconfig" in names(None, "pytest==8.4.0")
    assert names("IniConfig", "pytest==8.4.0") == {"pytest", "pluggy", "packaging", "pygments"}
    if source_allowed:
        assert names(None, "docopt==0.6.2") == {"docopt"}
        assert names("docopt", "docopt==0.6.2", "iniconfig") == {"iniconfig"}


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ((("kettle", "src"), ("tests", "."), ("setup", "."), ("test_core", "tests")), "kettle"),
        ((("kettle", "."), ("pot", ".")), None),
        ((("helper", "tests/support"),), None),
    ],
)
def test_a_project_that_names_itself_nowhere(modules: tuple[tuple[str, str], ...], expected: str | None) -> None:
    assert only_package(modules) == expected
