"""The two forms of the store, as one fixture."""

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from blocks.lake import ObjectStore
from blocks.lake.file import FileStore

OpenStore = Callable[[], ObjectStore]


@pytest.fixture(params=["file", pytest.param("s3", marks=pytest.mark.s3)])
def open_again(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    """Opens the same empty store, each time anew."""
    if request.param == "file":
        return lambda: FileStore(tmp_path / "lake")
    server = request.getfixturevalue("s3_server")
    prefix = f"test-{secrets.token_hex(6)}"
    return lambda: server.store(prefix)


@pytest.fixture
def store(open_again: OpenStore) -> ObjectStore:
    return open_again()
