"""Reading back what a committed phase run wrote. Every file is checked against the manifest."""

import hashlib
import io
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from blocks.errors import PermanentError
from blocks.lake.commit import Manifest
from blocks.lake.store import ObjectStore
from blocks.records import Record, Row
from blocks.schema import conform

AnyRecord = TypeVar("AnyRecord", bound=Record)
AnyRow = TypeVar("AnyRow", bound=Row)


def read_object(store: ObjectStore, manifest: Manifest, name: str) -> bytes:
    """The content of one file of a phase run.

    Raises:
        PermanentError: the manifest does not name it, it is gone (ObjectMissingError), or its sha256 differs.
    """
    try:
        entry = manifest.file(name)
    except KeyError:
        raise PermanentError(f"{manifest.key.prefix}: its manifest names no file {name!r}") from None
    content = store.get(manifest.key.prefix + name)
    if hashlib.sha256(content).hexdigest() != entry.sha256:
        raise PermanentError(
            f"{manifest.key.prefix}{name}: the content is not what was committed (sha256 differs); ask for a retry of "
            f"{manifest.key.phase} for {manifest.key.candidate_id}"
        )
    return content


def read_record(store: ObjectStore, manifest: Manifest, name: str, kind: type[AnyRecord]) -> AnyRecord:
    """One JSON file of a phase run as a record.

    Raises:
        PermanentError: as `read_object`, or the content is not a `kind`.
    """
    content = read_object(store, manifest, name)
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise PermanentError(
            f"{manifest.key.prefix}{name}: not a {kind.__name__}: {error.error_count()} faults"
        ) from error


def read_table(store: ObjectStore, manifest: Manifest, row_type: type[Row]) -> pa.Table | None:
    """The rows of one table of a phase run in today's columns (lacking ones null); None where it wrote none.

    Raises:
        PermanentError: as `read_object`, or the file is not Parquet of this table.
    """
    name = f"{row_type.table}.parquet"
    if all(entry.name != name for entry in manifest.files):
        return None
    content = read_object(store, manifest, name)
    try:
        return conform(pq.ParquetFile(io.BytesIO(content)).read(), row_type)
    except pa.ArrowInvalid as error:
        raise PermanentError(f"{manifest.key.prefix}{name}: not a Parquet file: {error}") from error


def load_rows(store: ObjectStore, manifest: Manifest, row_type: type[AnyRow]) -> list[AnyRow]:
    """The rows of one table of a phase run; empty where it wrote none.

    Raises:
        PermanentError: as `read_table`, or an old file lacks a column that today's model requires.
    """
    table = read_table(store, manifest, row_type)
    if table is None:
        return []
    defaults = {name for name, field in row_type.model_fields.items() if not field.is_required()}
    try:
        return [
            row_type.model_validate({k: v for k, v in row.items() if v is not None or k not in defaults})
            for row in table.to_pylist()
        ]
    except ValidationError as error:
        faults = ", ".join(sorted({str(item["loc"][0]) for item in error.errors() if item["loc"]}))
        raise PermanentError(
            f"{manifest.key.prefix}{row_type.table}.parquet: column {faults} is not as {row_type.__name__} wants it; a "
            "column that old files lack must be optional"
        ) from error
