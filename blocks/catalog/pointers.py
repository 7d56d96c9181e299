"""Pointers tell the indexer what is new. Each commit leaves one under `log/<date>/`, before its manifest.

A pointer whose manifest is not there yet waits and is looked at again at each index, for a week: a writer that lived would
have finished by then, and a rerun leaves a pointer of its own. The name of a pointer ends in the digest of its target, so
that those of loaded phase runs are told without reading them.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import duckdb
from pydantic import ValidationError

from blocks.catalog.tables import transaction
from blocks.lake.commit import MANIFEST, Pointer
from blocks.lake.store import ObjectMissingError, ObjectStore

_LOOK_BACK_DAYS = 2
"""How late a pointer may appear under its date: clocks differ, and a writer may be slow."""

_MOST_DAYS = 60
"""After a longer pause the whole log is listed instead of day by day."""

_KEEP_WAITING = timedelta(days=7)

_LOADED = f"""
SELECT left(sha256(CASE WHEN ends_with(manifest, '/') THEN manifest || '{MANIFEST}' ELSE manifest END), 16)
FROM history.phase_runs UNION ALL SELECT left(sha256(path), 16) FROM history.retries
"""
_DIGEST = r"regexp_extract(pointer, '-([0-9a-f]{16})\.json$', 1)"


def new_pointers(store: ObjectStore, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Keys of the pointers not settled yet: new ones, and those that wait."""
    last = connection.execute("SELECT max(pointer) FROM history.seen").fetchone()
    found = {info.key for folder in _folders(last[0] if last else None) for info in store.list(folder)}
    found.update(row[0] for row in connection.execute("SELECT pointer FROM history.waiting").fetchall())
    rows = connection.execute(
        "SELECT pointer FROM (SELECT unnest(?::VARCHAR[]) AS pointer) WHERE pointer NOT IN (FROM history.seen)",
        [sorted(found)],
    )
    return sorted(row[0] for row in rows.fetchall())


def not_loaded(connection: duckdb.DuckDBPyConnection, pointers: Sequence[str]) -> list[str]:
    """Those of the pointers whose target is not in the index."""
    rows = connection.execute(
        f"SELECT pointer FROM (SELECT unnest(?::VARCHAR[]) AS pointer) WHERE {_DIGEST} NOT IN ({_LOADED})",
        [list(pointers)],
    )
    return sorted(row[0] for row in rows.fetchall())


def pointer_targets(store: ObjectStore, pointers: Sequence[str]) -> Iterator[str]:
    """Keys of the manifests, crash records and retry marks that the pointers name."""

    def target(pointer: str) -> str | None:
        try:
            return Pointer.model_validate_json(store.get(pointer)).path
        except (ObjectMissingError, ValidationError):
            return None

    with ThreadPoolExecutor(8) as threads:
        yield from dict.fromkeys(path for path in threads.map(target, pointers) if path is not None)


def settle(connection: duckdb.DuckDBPyConnection, pointers: Sequence[str]) -> int:
    """Note which pointers are done with and which wait; returns how many wait."""
    now = datetime.now(UTC)
    with transaction(connection):
        connection.execute(
            "INSERT INTO history.waiting SELECT pointer, ? FROM (SELECT unnest(?::VARCHAR[]) AS pointer) "
            "WHERE pointer NOT IN (SELECT pointer FROM history.waiting)",
            [now, list(pointers)],
        )
        done = f"{_DIGEST} IN ({_LOADED}) OR first_seen < ?"
        connection.execute(
            f"INSERT INTO history.seen SELECT pointer FROM history.waiting WHERE {done}", [now - _KEEP_WAITING]
        )
        connection.execute(f"DELETE FROM history.waiting WHERE {done}", [now - _KEEP_WAITING])
        left = connection.execute("SELECT count(*) FROM history.waiting").fetchone()
    return int(left[0]) if left else 0


def _folders(last_seen: str | None) -> list[str]:
    """Folders of the log to list: from shortly before the last pointer seen until tomorrow."""
    try:
        start = date.fromisoformat((last_seen or "").split("/")[1]) - timedelta(days=_LOOK_BACK_DAYS)
    except (IndexError, ValueError):
        return ["log/"]
    days = (datetime.now(UTC).date() + timedelta(days=1) - start).days + 1
    if days > _MOST_DAYS:
        return ["log/"]
    return [f"log/{start + timedelta(days=offset)}/" for offset in range(days)]
