"""A lake in a folder, and the settings that name it."""

from pathlib import Path

import pytest

from blocks.lake import ObjectStore, open_store
from blocks.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def store(settings: Settings) -> ObjectStore:
    return open_store(settings)
