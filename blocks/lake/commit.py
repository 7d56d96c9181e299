"""A phase's way of writing: files under `candidates/<id>/<phase>/<input_key>/`, then the manifest, which commits.

Order of a commit: files, a pointer under `log/<date>/`, the manifest by put_if_absent. A pointer without a manifest means
that the writer died in between; the indexer looks again later. Nothing that a committed manifest names is overwritten.
"""

import contextlib
import hashlib
import io
import json
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from blocks.errors import PermanentError, TransientError
from blocks.lake.lease import Lease
from blocks.lake.store import ObjectMissingError, ObjectStore
from blocks.records import Outcome, Phase, PhaseRunRow, ReasonCode, Record, Row
from blocks.schema import arrow_schema

MANIFEST = "manifest.json"


class PhaseKey(Record):
    """Names one phase run: what is done (phase) to whom (candidate) from which inputs (input_key)."""

    candidate_id: str
    """For scope `contributions`: the contribution's id."""
    phase: Phase
    input_key: str
    upstream_key: str | None = None
    scope: Literal["candidates", "contributions"] = "candidates"

    @property
    def prefix(self) -> str:
        """Folder of everything this phase run writes."""
        return f"{self.scope}/{self.candidate_id}/{self.phase}/{self.input_key}/"


class FileEntry(Record):
    """One file of a committed phase run. `rows` and `table` are set for Parquet files."""

    name: str
    sha256: str
    size_bytes: int
    table: str | None = None
    rows: int | None = None


class Manifest(Record):
    """The commit of a phase run."""

    schema_version: int = 1
    key: PhaseKey
    outcome: Outcome
    reason_code: ReasonCode
    message: str
    files: tuple[FileEntry, ...]
    started_at: datetime
    committed_at: datetime
    flow_run_id: str | None
    writer: str

    def file(self, name: str) -> FileEntry:
        """The entry of this name. Raises KeyError."""
        for entry in self.files:
            if entry.name == name:
                return entry
        raise KeyError(name)

    def phase_run(self) -> PhaseRunRow:
        """The row this manifest gives to `phase_runs`."""
        return PhaseRunRow(
            candidate_id=self.key.candidate_id,
            phase=self.key.phase,
            input_key=self.key.input_key,
            upstream_key=self.key.upstream_key,
            state=self.outcome,
            reason_code=self.reason_code,
            message=self.message,
            flow_run_id=self.flow_run_id,
            started_at=self.started_at,
            seconds=(self.committed_at - self.started_at).total_seconds(),
        )


class Pointer(Record):
    """What a pointer holds. Its name ends in the first 16 digits of the sha256 of `path`; the indexer relies on that."""

    path: str


def input_key(phase: Phase, version: int, upstream_key: str | None, config: Record | None, attempt: int = 0) -> str:
    """The key of a phase run: sha256 over the upstream key, the phase's version, the configuration that matters and how
    often a retry was asked for; 32 hex digits.
    """
    parts = {
        "phase": phase.value,
        "version": version,
        "upstream": upstream_key,
        "config": config.model_dump(mode="json") if config else None,
        "attempt": attempt,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


class PhaseWriter:
    """Writes the files of one phase run. Only `commit_phase` makes them count."""

    def __init__(
        self,
        store: ObjectStore,
        key: PhaseKey,
        flow_run_id: str | None = None,
        started_at: datetime | None = None,
        lease: Lease | None = None,
    ) -> None:
        """`lease`: the one the work is done under; once it is known to be lost, nothing is written any more."""
        self.store = store
        self.lease = lease
        self.key = key
        self.flow_run_id = flow_run_id
        self.started_at = started_at or datetime.now(UTC)
        self._files: dict[str, FileEntry] = {}

    def rows(self, rows: Sequence[Row]) -> None:
        """Write rows of one table as `<table>.parquet`; an empty sequence writes nothing.

        Raises:
            ValueError: the rows are of different tables, or the table was written already.
        """
        if not rows:
            return
        kind = type(rows[0])
        if any(type(row) is not kind for row in rows):
            raise ValueError("rows of different tables in one file")
        name = f"{kind.table}.parquet"
        if name in self._files:
            raise ValueError(f"{name} was written already in this phase run")
        table = pa.Table.from_pylist([row.model_dump(mode="python") for row in rows], schema=arrow_schema(kind))
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        self._put(name, buffer.getvalue(), table=kind.table, count=len(rows))

    def object(self, name: str, content: bytes | str | Path) -> str:
        """Write one object below the phase run's folder and return its URI. A path is streamed."""
        self._put(name, content.encode() if isinstance(content, str) else content)
        return self.store.uri(self.key.prefix + name)

    def record(self, name: str, value: Record) -> str:
        """Write one record as JSON and return its URI."""
        return self.object(name, value.model_dump_json(indent=1))

    def expect_held(self) -> None:
        """Raises LeaseLostError where the work's lease is known to be another worker's."""
        if self.lease is not None:
            self.lease.expect_held()

    def entries(self) -> tuple[FileEntry, ...]:
        """What has been written so far."""
        return tuple(self._files.values())

    def _put(self, name: str, content: bytes | Path, table: str | None = None, count: int | None = None) -> None:
        if name == MANIFEST:
            raise ValueError("the manifest is written by commit_phase only")
        self.expect_held()
        if self.store.head(self.key.prefix + MANIFEST) is not None:
            raise TransientError(f"{self.key.prefix}: committed by another worker while this one worked; it is reused")
        self.store.put(self.key.prefix + name, content)
        if isinstance(content, Path):
            with content.open("rb") as stream:
                digest, size = hashlib.file_digest(stream, "sha256").hexdigest(), content.stat().st_size
        else:
            digest, size = hashlib.sha256(content).hexdigest(), len(content)
        self._files[name] = FileEntry(name=name, sha256=digest, size_bytes=size, table=table, rows=count)


def commit_phase(writer: PhaseWriter, outcome: Outcome, reason_code: ReasonCode, message: str) -> Manifest:
    """Write pointer and manifest. Where another worker committed the same key first, its manifest is returned.

    Raises:
        LeaseLostError: the work's lease is another worker's; nothing is committed.
    """
    writer.expect_held()
    manifest = Manifest(
        key=writer.key,
        outcome=outcome,
        reason_code=reason_code,
        message=message,
        files=writer.entries(),
        started_at=writer.started_at,
        committed_at=datetime.now(UTC),
        flow_run_id=writer.flow_run_id,
        writer=socket.gethostname(),
    )
    point(writer.store, writer.key.prefix + MANIFEST, manifest.committed_at)
    if writer.store.put_if_absent(writer.key.prefix + MANIFEST, manifest.model_dump_json(indent=1).encode()):
        _remove_others(writer)
        return manifest
    committed = find_manifest(writer.store, writer.key)
    if committed is None:
        raise ObjectMissingError(f"{writer.key.prefix}{MANIFEST}: taken by another writer and gone; run again")
    return committed


def _remove_others(writer: PhaseWriter) -> None:
    """What a run of the same key that was killed left under names that this one did not write; its crash rows stay."""
    kept = {MANIFEST, *(entry.name for entry in writer.entries())}
    with contextlib.suppress(TransientError):  # it is committed, whatever lies beside it
        for info in list(writer.store.list(writer.key.prefix)):
            name = info.key.removeprefix(writer.key.prefix)
            if name not in kept and not name.startswith("crashes/"):
                writer.store.delete(info.key)


def record_crash(writer: PhaseWriter, message: str) -> None:
    """Leave a `phase_runs` row for an infrastructure failure; commits nothing, so that the next run tries again."""
    now = datetime.now(UTC)
    row = PhaseRunRow(
        candidate_id=writer.key.candidate_id,
        phase=writer.key.phase,
        input_key=writer.key.input_key,
        upstream_key=writer.key.upstream_key,
        state="crashed",
        reason_code=None,
        message=message,
        flow_run_id=writer.flow_run_id,
        started_at=writer.started_at,
        seconds=(now - writer.started_at).total_seconds(),
    )
    path = f"{writer.key.prefix}crashes/{now:%Y%m%dT%H%M%S.%fZ}.json"
    writer.store.put(path, row.model_dump_json().encode())
    point(writer.store, path, now)


def find_manifest(store: ObjectStore, key: PhaseKey) -> Manifest | None:
    """The committed manifest of this phase run, or None.

    Raises:
        PermanentError: what lies there is no manifest, or one of a newer version.
    """
    try:
        return Manifest.model_validate_json(store.get(key.prefix + MANIFEST))
    except ObjectMissingError:
        return None
    except ValidationError:
        fault = "is not a manifest this version can read; ask for a retry of the phase"
        raise PermanentError(f"{store.uri(key.prefix + MANIFEST)} {fault}") from None


def point(store: ObjectStore, path: str, moment: datetime) -> None:
    """Leave a pointer for the indexer, before what it points to is written."""
    digest = hashlib.sha256(path.encode()).hexdigest()[:16]
    pointer = Pointer(path=path).model_dump_json().encode()
    store.put(f"log/{moment:%Y-%m-%d}/{moment:%H%M%S.%f}-{digest}.json", pointer)
