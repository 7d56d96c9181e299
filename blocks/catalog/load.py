"""From committed objects to rows of the index, many phase runs per transaction. Loading one twice changes nothing."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import duckdb
import pyarrow as pa
from pydantic import ValidationError

from blocks.catalog.tables import SCHEMA, leading_columns
from blocks.errors import PermanentError
from blocks.lake.commit import MANIFEST, Manifest
from blocks.lake.read import read_table
from blocks.lake.retries import Retry, retry_at
from blocks.lake.store import ObjectMissingError, ObjectStore
from blocks.records import TABLES, PhaseRunRow, Row
from blocks.schema import arrow_schema, conform, quoted

BATCH = 200
"""Phase runs per transaction."""

_THREADS = 8
_ROW_TYPES: dict[str, type[Row]] = {row_type.table: row_type for row_type in TABLES}


@dataclass(frozen=True)
class Loaded:
    """One committed object, read. `manifest` is None for a crash record."""

    path: str
    run: PhaseRunRow
    manifest: Manifest | None = None
    tables: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """Value of the `manifest` column: the folder of the phase run, or the path of the crash record."""
        return self.path.removesuffix(MANIFEST)


@dataclass(frozen=True)
class Unreadable:
    """A committed object that could not be loaded, and why. It is tried again at the next index."""

    path: str
    fault: str


class Inserted(NamedTuple):
    """How much was new."""

    manifests: int
    crashes: int
    rows: int


def is_committed(key: str) -> bool:
    """Whether an object below `candidates/` or `contributions/` is a manifest, a crash record or a retry mark."""
    parts = key.split("/")
    is_run = (len(parts) == 5 and parts[4] == MANIFEST) or (len(parts) == 6 and parts[4] == "crashes")
    return is_run or retry_at(key) is not None


def read_all(store: ObjectStore, paths: Iterable[str]) -> Iterator[list[Loaded | Retry | Unreadable | None]]:
    """Read committed objects, in batches and in order; None for one that is not there (yet)."""
    with ThreadPoolExecutor(_THREADS) as threads:
        remaining = iter(paths)
        while batch := list(islice(remaining, BATCH)):
            yield list(threads.map(lambda path: read_one(store, path), batch))


def read_one(store: ObjectStore, path: str) -> Loaded | Retry | Unreadable | None:
    """Read one manifest with its Parquet files, one crash record or one retry mark."""
    try:
        content = store.get(path)
    except ObjectMissingError:
        return None
    mark = retry_at(path)
    if mark is not None:
        return mark
    try:
        if not path.endswith(f"/{MANIFEST}"):
            return Loaded(path, PhaseRunRow.model_validate_json(content))
        manifest = Manifest.model_validate_json(content)
        if manifest.key.prefix + MANIFEST != path:
            return Unreadable(path, f"{path}: the manifest is of another phase run ({manifest.key.prefix})")
        return Loaded(path, manifest.phase_run(), manifest, _tables(store, manifest))
    except ValidationError as error:
        return Unreadable(path, f"{path}: not a record this version knows ({error.error_count()} faults)")
    except PermanentError as error:
        return Unreadable(path, str(error))


def insert(connection: duckdb.DuckDBPyConnection, batch: Sequence[Loaded]) -> Inserted:
    """Insert what is not there yet. One transaction is the caller's."""
    rows = connection.execute(
        "SELECT manifest FROM history.phase_runs WHERE manifest IN (SELECT unnest(?::VARCHAR[]))",
        [[loaded.origin for loaded in batch]],
    )
    known = {row[0] for row in rows.fetchall()}
    new = list({loaded.path: loaded for loaded in batch if loaded.origin not in known}.values())
    manifests = [loaded for loaded in new if loaded.manifest is not None]
    if manifests:
        _append(connection, "manifests", _manifests(manifests))
    count = 0
    for row_type in TABLES:
        parts = [
            _with_origin(row_type, loaded, table) for loaded in new if (table := _table(loaded, row_type)) is not None
        ]
        if parts:
            _append(connection, row_type.table, pa.concat_tables(parts))
            count += sum(part.num_rows for part in parts)
    return Inserted(len(manifests), len(new) - len(manifests), count)


def insert_retries(connection: duckdb.DuckDBPyConnection, marks: Sequence[Retry]) -> int:
    """Insert what is not there yet; how many were new. One transaction is the caller's."""
    new = 0
    for mark in marks:
        row = [mark.path, mark.candidate_id, mark.phase.value, mark.attempt]
        added = connection.execute(
            "INSERT INTO history.retries SELECT ?, ?, ?, ? WHERE ? NOT IN (SELECT path FROM history.retries)",
            [*row, mark.path],
        ).fetchone()
        new += int(added[0]) if added else 0
    return new


def _tables(store: ObjectStore, manifest: Manifest) -> dict[str, pa.Table]:
    found = {}
    for entry in manifest.files:
        if entry.table is None:
            continue
        row_type = _ROW_TYPES.get(entry.table)
        if row_type is None or row_type is PhaseRunRow:
            raise PermanentError(f"{manifest.key.prefix}{entry.name}: this version has no such table; upgrade envmill")
        table = read_table(store, manifest, row_type)
        if table is not None:
            found[entry.table] = table
    return found


def _table(loaded: Loaded, row_type: type[Row]) -> pa.Table | None:
    if row_type is not PhaseRunRow:
        return loaded.tables.get(row_type.table)
    schema = arrow_schema(PhaseRunRow)
    return conform(pa.Table.from_pylist([loaded.run.model_dump(mode="python")], schema=schema), PhaseRunRow)


def _with_origin(row_type: type[Row], loaded: Loaded, table: pa.Table) -> pa.Table:
    origin = {"manifest": loaded.origin, "phase": loaded.run.phase.value, "input_key": loaded.run.input_key}
    for name in leading_columns(row_type):
        table = table.append_column(name, pa.array([origin[name]] * table.num_rows, pa.string()))
    return table


def _manifests(batch: Sequence[Loaded]) -> pa.Table:
    text = (
        "manifest",
        "scope",
        "candidate_id",
        "phase",
        "input_key",
        "upstream_key",
        "outcome",
        "reason_code",
        "message",
    )
    moment = pa.timestamp("us", tz="UTC")
    schema = pa.schema([*((name, pa.string()) for name in text), ("started_at", moment), ("committed_at", moment)])
    rows = [
        {
            **loaded.manifest.key.model_dump(mode="json"),
            "manifest": loaded.origin,
            "outcome": loaded.manifest.outcome.value,
            "reason_code": loaded.manifest.reason_code.value,
            "message": loaded.manifest.message,
            "started_at": loaded.manifest.started_at,
            "committed_at": loaded.manifest.committed_at,
        }
        for loaded in batch
        if loaded.manifest is not None
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def _append(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    connection.register("arriving", rows)
    try:
        connection.execute(f"INSERT INTO {SCHEMA}.{quoted(table)} BY NAME FROM arriving")
    finally:
        connection.unregister("arriving")
