"""The physical tables of the index file, in schema `history`: every row ever committed, with where it comes from.

Each table of blocks/records.py has, before its own columns, `manifest` (folder of the phase run, or path of the crash
record) and, where the row has no such column itself, `phase` and `input_key` of that phase run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from blocks.errors import PermanentError, TransientError
from blocks.records import TABLES, Phase, Row
from blocks.schema import quoted, sql_columns, table_ddl

SCHEMA = "history"

_BOOKKEEPING = """
CREATE SCHEMA IF NOT EXISTS history;
CREATE TABLE IF NOT EXISTS history.manifests (
    manifest VARCHAR, scope VARCHAR, candidate_id VARCHAR, phase VARCHAR, input_key VARCHAR, upstream_key VARCHAR,
    outcome VARCHAR, reason_code VARCHAR, message VARCHAR, started_at TIMESTAMPTZ, committed_at TIMESTAMPTZ
);
CREATE TABLE IF NOT EXISTS history.current AS FROM history.manifests WHERE false;
CREATE TABLE IF NOT EXISTS history.seen (pointer VARCHAR);
CREATE TABLE IF NOT EXISTS history.waiting (pointer VARCHAR, first_seen TIMESTAMPTZ);
CREATE TABLE IF NOT EXISTS history.retries (path VARCHAR, candidate_id VARCHAR, phase VARCHAR, attempt INTEGER);
CREATE TABLE IF NOT EXISTS history.tombstones (id VARCHAR);
CREATE TABLE IF NOT EXISTS history.layout (digest VARCHAR);
CREATE OR REPLACE TABLE history.phases (position INTEGER, phase VARCHAR);
"""


def leading_columns(row_type: type[Row]) -> dict[str, str]:
    """Columns that say where a row comes from, name to DuckDB type."""
    origin = ("manifest", "phase", "input_key")
    return {name: "VARCHAR" for name in origin if name not in row_type.model_fields}


@contextmanager
def open_index(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The index file with every table there, for its one writer.

    Raises:
        TransientError: another process has it open.
        PermanentError: it cannot be read, or holds a column of another type than the model.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = _connect(path)
    try:
        connection.execute("SET TimeZone = 'UTC'")
        with transaction(connection):
            _prepare(connection, path)
        yield connection
    finally:
        connection.close()


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All of the block or nothing."""
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _prepare(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Make the tables that are missing and add the columns that are new."""
    connection.execute(_BOOKKEEPING)
    for position, phase in enumerate(Phase, start=1):
        connection.execute("INSERT INTO history.phases VALUES (?, ?)", [position, phase.value])
    for row_type in TABLES:
        leading = leading_columns(row_type)
        connection.execute(table_ddl(row_type, SCHEMA, leading))
        present = dict(
            connection.execute(
                "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = ? AND table_name = ?",
                [SCHEMA, row_type.table],
            ).fetchall()
        )
        for name, kind in {**leading, **sql_columns(row_type)}.items():
            if name not in present:
                connection.execute(f"ALTER TABLE {SCHEMA}.{quoted(row_type.table)} ADD COLUMN {quoted(name)} {kind}")
            elif present[name] not in (kind, "TIMESTAMP WITH TIME ZONE" if kind == "TIMESTAMPTZ" else kind):
                raise PermanentError(
                    f"{path}: column {row_type.table}.{name} is {present[name]}, the records say {kind}; "
                    "run `envmill catalog rebuild`"
                )


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(str(path))
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            raise TransientError(f"{path}: another process writes the index; wait for it and run again") from error
        raise PermanentError(f"{path}: the index cannot be read; run `envmill catalog rebuild`") from error
    except duckdb.Error as error:
        raise PermanentError(f"{path}: the index cannot be read; run `envmill catalog rebuild`") from error
