"""Whether a run that was disturbed ended with the rows of one that was not."""

import shutil
from pathlib import Path

import duckdb

from blocks.catalog import compare
from blocks.catalog.compare import Difference


def differences(undisturbed: Path, disturbed: Path, folder: Path) -> list[Difference]:
    """Rows that only one of two homes' catalogs has, of all there ever were.

    Crash rows are left out: that something failed is what the disturbance adds.
    """
    copy = folder / "without-crashes.duckdb"
    shutil.copy(disturbed / "catalog.duckdb", copy)
    with duckdb.connect(str(copy)) as connection:
        connection.execute("DELETE FROM history.phase_runs WHERE state = 'crashed'")
    return [*compare(undisturbed / "catalog.duckdb", copy), *compare(undisturbed / "catalog.duckdb", copy, "history")]


def crashes(home: Path) -> list[str]:
    """Messages of the crash rows."""
    with duckdb.connect(str(home / "catalog.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT message FROM history.phase_runs WHERE state = 'crashed'").fetchall()
    return [str(row[0]) for row in rows]
