from pathlib import Path

import pytest

from tests.tasks.qualify.kettle import Kettle


@pytest.fixture(scope="session")
def first_kettle(tmp_path_factory: pytest.TempPathFactory) -> Kettle:
    return Kettle(tmp_path_factory.mktemp("kettle"))


@pytest.fixture
def kettle(first_kettle: Kettle, tmp_path: Path) -> Kettle:
    return first_kettle.copy(tmp_path)
