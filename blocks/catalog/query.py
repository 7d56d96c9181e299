"""Reading the catalog: a snapshot, opened read-only; SQL of a user reaches no file, no network and no setting."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import duckdb

from blocks.errors import PermanentError, UsageError


class Column(NamedTuple):
    """A column of a result; `type` is DuckDB's name of it, e.g. VARCHAR or JSON."""

    name: str
    type: str


@dataclass(frozen=True)
class QueryResult:
    """Columns and rows of a query. Moments are in UTC; JSON columns are text."""

    columns: tuple[Column, ...]
    rows: list[tuple[object, ...]]


class CommittedKey(NamedTuple):
    """One committed phase run."""

    candidate_id: str
    phase: str
    input_key: str
    outcome: str


@contextmanager
def open_catalog(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to a snapshot; the indexer replaces the file without waiting for it.

    Raises:
        UsageError: there is no such file.
        PermanentError: it is no catalog this DuckDB can read.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no catalog yet; run `envmill run` or `envmill catalog rebuild` first")
    with _connect(path) as connection:
        yield connection


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    # Attached to a database of its own: DuckDB shares one instance among all who open a file in one process, and with it the
    # locked settings of a user's query, and the old snapshot as long as anybody has it open.
    connection = duckdb.connect(":memory:")
    try:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET autoinstall_known_extensions = false")
        # Else a name that is no table would be looked for among the Python variables of the caller.
        connection.execute("SET python_enable_replacements = false")
        escaped = str(path).replace("'", "''")
        connection.execute(f"ATTACH '{escaped}' AS catalog (READ_ONLY)")
        connection.execute("USE catalog")
    except duckdb.Error as error:
        connection.close()
        raise PermanentError(f"{path}: not a catalog that can be read; run `envmill catalog rebuild`") from error
    return connection


def query(path: Path, sql: str) -> QueryResult:
    """Run one query of a user against a snapshot.

    Raises:
        UsageError: no catalog there, or SQL that is not valid or asks for what is locked (files, network, settings).
        PermanentError: as `open_catalog`.
    """
    with open_catalog(path) as connection:
        connection.execute("SET autoload_known_extensions = false")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        try:
            connection.execute(sql)
            columns = tuple(Column(item[0], str(item[1])) for item in connection.description or ())
            return QueryResult(columns, connection.fetchall() if columns else [])
        except duckdb.Error as error:
            raise UsageError(f"the query failed: {error}") from error


def committed_keys(path: Path) -> frozenset[CommittedKey]:
    """Every phase run that was ever committed, also those that are not current: expected minus these is pending."""
    with open_catalog(path) as connection:
        rows = connection.execute("SELECT candidate_id, phase, input_key, outcome FROM history.manifests").fetchall()
    return frozenset(CommittedKey(*row) for row in rows)
