"""The one writer of the catalog. It holds the lease `catalog`, so two of them never write at the same time."""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from blocks.catalog.load import Loaded, Unreadable, insert, insert_retries, is_committed, read_all
from blocks.catalog.pointers import new_pointers, not_loaded, pointer_targets, settle
from blocks.catalog.snapshot import publish_snapshot
from blocks.catalog.tables import open_index, transaction
from blocks.catalog.views import create_views, find_current, layout_digest
from blocks.errors import PermanentError
from blocks.lake.lease import Lease, acquire_lease
from blocks.lake.retries import Retry
from blocks.lake.store import ObjectStore
from blocks.owner import Owner
from blocks.records import Record
from blocks.settings import Settings

_LEASE_SEC = 600


class IndexReport(Record):
    """What one run of the indexer did."""

    manifests: int
    """Phase runs loaded that were not there before."""
    crashes: int
    retries: int
    """Retry marks."""
    rows: int
    waiting: int
    """Pointers whose manifest is not there yet."""
    faults: tuple[str, ...]
    """Committed objects that could not be loaded; they are tried again at the next index."""


@dataclass
class _Tally:
    manifests: int = 0
    crashes: int = 0
    retries: int = 0
    rows: int = 0
    faults: list[str] = field(default_factory=list)


def index_path(settings: Settings) -> Path:
    """The index file, open to nobody but the indexer."""
    return settings.home / "index" / "catalog.duckdb"


def index(store: ObjectStore, settings: Settings, owner: Owner | None = None) -> IndexReport:
    """Load what was committed since the last time, and replace the snapshot if anything is new.

    Args:
        store: the lake.
        settings: where index and snapshot lie.
        owner: who holds the lease; one that names a flow run may come again after a try that failed.

    Raises:
        LeaseHeldError: another indexer is at work.
        TransientError, PermanentError: of the store, or of an index file that cannot be opened or written.
    """
    with acquire_lease(store, "catalog", owner=owner, ttl_sec=_LEASE_SEC) as lease, _disk(settings):
        tally = _Tally()
        with open_index(index_path(settings)) as connection:
            pointers = new_pointers(store, connection)
            _load(store, connection, lease, pointer_targets(store, not_loaded(connection, pointers)), tally)
            waiting = settle(connection, pointers)
            changed = _lay_out(store, connection, force=tally.manifests + tally.crashes + tally.retries > 0)
        if changed or not settings.catalog_path.is_file():
            _publish(store, settings)
    return _report(tally, waiting)


def rebuild(store: ObjectStore, settings: Settings) -> IndexReport:
    """Make the catalog from the objects alone, in a new file that then takes the place of the old one.

    Raises:
        LeaseHeldError: an indexer is at work.
        TransientError, PermanentError: of the store.
    """
    target = index_path(settings)
    with acquire_lease(store, "catalog", ttl_sec=_LEASE_SEC) as lease, _disk(settings), _new_file(target) as fresh:
        tally = _Tally()
        with open_index(fresh) as connection:
            # The pointers first: what is committed while we list is then left to the next index.
            pointers = [info.key for info in store.list("log/")]
            keys = (info.key for scope in ("candidates/", "contributions/") for info in store.list(scope))
            _load(store, connection, lease, (key for key in keys if is_committed(key)), tally)
            waiting = settle(connection, pointers)
            _lay_out(store, connection, force=True)
        Path(f"{target}.wal").unlink(missing_ok=True)
        fresh.replace(target)
        _publish(store, settings)
    return _report(tally, waiting)


def _load(
    store: ObjectStore, connection: duckdb.DuckDBPyConnection, lease: Lease, paths: Iterable[str], tally: _Tally
) -> None:
    for batch in read_all(store, paths):
        loaded = [item for item in batch if isinstance(item, Loaded)]
        tally.faults += [item.fault for item in batch if isinstance(item, Unreadable)]
        with transaction(connection):
            inserted = insert(connection, loaded)
            tally.retries += insert_retries(connection, [item for item in batch if isinstance(item, Retry)])
        tally.manifests += inserted.manifests
        tally.crashes += inserted.crashes
        tally.rows += inserted.rows
        lease.renew()


def _lay_out(store: ObjectStore, connection: duckdb.DuckDBPyConnection, *, force: bool) -> bool:
    """Find what is current and make the views, where rows, tombstones, records or views have changed."""
    dead = sorted(info.key.removeprefix("tombstones/").removesuffix(".json") for info in store.list("tombstones/"))
    known = [row[0] for row in connection.execute("SELECT id FROM history.tombstones ORDER BY id").fetchall()]
    digest = layout_digest()
    before = connection.execute("SELECT digest FROM history.layout").fetchone()
    if not force and dead == known and before == (digest,):
        return False
    with transaction(connection):
        connection.execute("DELETE FROM history.tombstones")
        connection.execute("INSERT INTO history.tombstones SELECT unnest(?::VARCHAR[])", [dead])
        find_current(connection)
        create_views(connection)
        connection.execute("DELETE FROM history.layout")
        connection.execute("INSERT INTO history.layout VALUES (?)", [digest])
    connection.execute("CHECKPOINT")
    return True


def _publish(store: ObjectStore, settings: Settings) -> None:
    remote = store if settings.lake_url.startswith("s3://") else None
    publish_snapshot(index_path(settings), settings.catalog_path, remote)


def _report(tally: _Tally, waiting: int) -> IndexReport:
    return IndexReport(
        manifests=tally.manifests,
        crashes=tally.crashes,
        retries=tally.retries,
        rows=tally.rows,
        waiting=waiting,
        faults=tuple(tally.faults),
    )


@contextmanager
def _disk(settings: Settings) -> Iterator[None]:
    """What the disk says, and what DuckDB makes of it, becomes an error that says what to do."""
    try:
        yield
    except (OSError, duckdb.Error) as error:
        said = getattr(error, "strerror", None) or error
        where = f"{settings.home}: the catalog cannot be written"
        raise PermanentError(f"{where}: {said}; make room there, or correct its permissions, and run again") from error


@contextmanager
def _new_file(target: Path) -> Iterator[Path]:
    """A name beside the index for a new one; what an earlier rebuild left when it was killed goes first."""
    for leftover in target.parent.glob("rebuild-*"):
        leftover.unlink()
    fresh = target.with_name(f"rebuild-{secrets.token_hex(8)}.duckdb")
    try:
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)
        Path(f"{fresh}.wal").unlink(missing_ok=True)
