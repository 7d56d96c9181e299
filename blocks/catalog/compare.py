"""Whether two catalogs say the same: as multisets of rows, without the volatile columns, and without where a lake lies."""

from pathlib import Path
from typing import Literal

import duckdb

from blocks.catalog.query import open_catalog
from blocks.records import TABLES, Record, Row, volatile_columns
from blocks.schema import quoted

_EXAMPLES = 5


class Difference(Record):
    """Rows of one table that one of the two catalogs has more of than the other."""

    table: str
    only_in: Literal["a", "b"]
    rows: int
    examples: tuple[str, ...]
    """Some of them, as text."""


def compare(path_a: Path, path_b: Path, schema: Literal["main", "history"] = "main") -> list[Difference]:
    """Compare every table; empty means equal.

    Addresses (columns that end in `_uri`) are compared from the candidate's folder on, so that two lakes can be equal.
    A column that only one of the two has counts as null in the other.

    Args:
        path_a: a snapshot.
        path_b: another.
        schema: `main` compares the current rows and all phase runs; `history` every row ever.

    Raises:
        UsageError, PermanentError: as `open_catalog`.
    """
    for path in (path_a, path_b):
        with open_catalog(path):
            pass
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, path in (("a", path_a), ("b", path_b)):
            escaped = str(path).replace("'", "''")
            connection.execute(f"ATTACH '{escaped}' AS {name} (READ_ONLY)")
        found = [_compare(connection, row_type, schema, side) for row_type in TABLES for side in ("a", "b")]
    return [difference for difference in found if difference is not None]


def _compare(
    connection: duckdb.DuckDBPyConnection, row_type: type[Row], schema: str, side: Literal["a", "b"]
) -> Difference | None:
    other = "b" if side == "a" else "a"
    columns = {name: _columns(connection, name, schema, row_type.table) for name in ("a", "b")}
    compared = sorted((columns["a"] | columns["b"]) - volatile_columns(row_type))
    selects = {
        name: f"SELECT {', '.join(_expression(column, columns[name]) for column in compared)} "
        f"FROM {name}.{schema}.{quoted(row_type.table)}"
        for name in ("a", "b")
    }
    rows = connection.execute(f"{selects[side]} EXCEPT ALL {selects[other]}").fetchall()
    if not rows:
        return None
    examples = tuple(str(dict(zip(compared, row, strict=True))) for row in sorted(map(_text, rows))[:_EXAMPLES])
    return Difference(table=row_type.table, only_in=side, rows=len(rows), examples=examples)


def _columns(connection: duckdb.DuckDBPyConnection, database: str, schema: str, table: str) -> frozenset[str]:
    rows = connection.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = ? AND schema_name = ? AND table_name = ?",
        [database, schema, table],
    )
    return frozenset(row[0] for row in rows.fetchall())


def _expression(column: str, present: frozenset[str]) -> str:
    if column not in present:
        return "NULL"
    text = f"CAST({quoted(column)} AS VARCHAR)"
    return f"regexp_extract({text}, '(candidates|contributions)/.*$')" if column.endswith("_uri") else text


def _text(row: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(map(str, row))
