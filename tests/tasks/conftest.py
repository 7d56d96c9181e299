"""A candidate that archaeology has rebuilt: made once, and taken further by the tests of the later phases."""

from collections.abc import Iterator

import pytest

from blocks.engine import Engine
from blocks.records import EnvironmentRow, Phase
from tasks.archaeology.phase import ARCHAEOLOGY
from tasks.containerize.phase import CONTAINERIZE
from tasks.synthesis.phase import SYNTHESIS
from tests.tasks.pipeline import Candidate, replace
from tests.tasks.projects import src_layout


@pytest.fixture(scope="session")
def rebuilt(engine: Engine, python_image: str, tmp_path_factory: pytest.TempPathFactory) -> Candidate:
    """Through archaeology; its session's only edit mends the bug."""
    edit = replace("src/kettle/core.py", "litres * 100", "int(litres * 334.4)")
    candidate = Candidate(tmp_path_factory.mktemp("kettle"), src_layout(), edits=(edit,))
    result = candidate.run(ARCHAEOLOGY)
    assert result.goes_on, result.message
    return candidate


@pytest.fixture(scope="session")
def built(rebuilt: Candidate) -> Iterator[Candidate]:
    """Through containerize. Its image goes when the tests are done; the layers below are kept for the next time."""
    result = rebuilt.run(CONTAINERIZE)
    assert result.goes_on, result.message
    yield rebuilt
    rebuilt.workshop.engine.remove_image(rebuilt.chain.row(Phase.CONTAINERIZE, EnvironmentRow).image)


@pytest.fixture(scope="session")
def verified(built: Candidate) -> Candidate:
    """Through synthesis."""
    result = built.run(SYNTHESIS)
    assert result.goes_on, result.message
    return built
