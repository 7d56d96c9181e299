"""A home on a disk that is full: the indexer says so, and goes on once there is room."""

import subprocess
from pathlib import Path

import pytest

from blocks.catalog import index
from blocks.catalog.query import query
from blocks.errors import PermanentError
from blocks.lake import open_store
from blocks.records import Phase
from blocks.settings import Settings
from tests.blocks.catalog.hand import walk
from tests.dockerd import small_disk


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [64, 3500])
def test_the_index_says_so_and_goes_on(tmp_path: Path, kilobytes: int) -> None:
    """Without room for the index file; with room for it, but not for the snapshot beside it."""
    with small_disk(tmp_path, 1, "tmpfs") as home:
        subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(home)], check=True)
        settings = Settings(home=home, lake=(tmp_path / "lake").as_uri())
        store = open_store(settings)
        walk(store, "a", Phase.PUBLISH)
        with pytest.raises(PermanentError, match=r"the catalog cannot be written: .*[Nn]o space left.*make room"):
            index(store, settings)
        assert not list(home.rglob(".~*"))
        subprocess.run(["mount", "-o", "remount,size=100m", str(home)], check=True)
        index(store, settings)
        assert query(settings.catalog_path, "SELECT status FROM candidates").rows == [("published",)]
