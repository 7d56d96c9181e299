"""What readers open: a copy of the index, put in place by one rename, so that neither side ever waits for the other."""

import os
import shutil
from pathlib import Path

from blocks.lake.file import replaced
from blocks.lake.store import ObjectStore

STORE_KEY = "catalog/catalog.duckdb"
"""Where analysts elsewhere attach it."""


def publish_snapshot(index_file: Path, snapshot: Path, store: ObjectStore | None) -> None:
    """Copy the closed index to `snapshot`, and to the store where one is given (then an S3 one)."""
    with replaced(snapshot) as temporary:
        shutil.copyfile(index_file, temporary)
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
    if store is not None:
        store.put(STORE_KEY, snapshot)
