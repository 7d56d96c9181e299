"""Looks for values in everything below a folder: raw bytes, and what formats that compress or split values hold inside."""

import gzip
import io
import json
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

_DEPTH = 4


def find_needles(root: Path, values: Iterable[str]) -> list[str]:
    """`<file>: <value>` for each value that is somewhere, as it is or escaped for JSON once or twice."""
    needles = {value: sorted(_spellings(value)) for value in values}
    found = []
    for path in sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink()):
        for place, content in _contents(path):
            found += [f"{place}: {value}" for value, forms in needles.items() if any(form in content for form in forms)]
        found += [f"name of {path}: {value}" for value in needles if value in path.name]
    return found


def _spellings(value: str) -> set[bytes]:
    once = json.dumps(value)[1:-1]
    return {
        form.encode() for form in (value, once, json.dumps(once)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    }


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    content = path.read_bytes()
    yield str(path), content
    if content[8:12] == b"DUCK":
        yield f"{path} (tables)", _duckdb(path)
    elif content.startswith(b"SQLite format 3\0"):
        yield f"{path} (tables)", _sqlite(path)
    else:
        yield from _inside(str(path), content, _DEPTH)


def _inside(place: str, content: bytes, depth: int) -> Iterator[tuple[str, bytes]]:
    """What a container format holds; formats may be nested."""
    for name, part in _parts(content) if depth else ():
        yield f"{place}!{name}", part
        yield from _inside(f"{place}!{name}", part, depth - 1)


def _parts(content: bytes) -> Iterator[tuple[str, bytes]]:
    if content.startswith(b"PAR1"):
        yield "columns", _lines(pq.read_table(io.BytesIO(content)).to_pylist())
    elif content.startswith(b"\x1f\x8b"):
        yield "gzip", gzip.decompress(content)
    elif content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield from ((name, archive.read(name)) for name in archive.namelist())
    elif content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() else None
                yield member.name, stream.read() if stream else b""
    elif content[:1] == b"\x78" and len(content) > 2:
        try:
            yield "zlib", zlib.decompress(content)  # a loose git object
        except zlib.error:
            return


def _duckdb(path: Path) -> bytes:
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute(
            "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
        ).fetchall()
        dumped = []
        for names in tables:
            quoted = ".".join(f'"{name}"' for name in names)
            dumped.append(_lines(connection.execute(f"SELECT * FROM {quoted}").fetchall()))
        return b"\n".join(dumped)


def _sqlite(path: Path) -> bytes:
    """All values of all tables; the write-ahead log is read too."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        connection.text_factory = bytes
        names = [row[0].decode() for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        dumped = []
        for name in names:
            for row in connection.execute(f'SELECT * FROM "{name}"'):
                dumped += [value if isinstance(value, bytes) else str(value).encode() for value in row]
        return b"\n".join(dumped)
    finally:
        connection.close()


def _lines(rows: Iterable[object]) -> bytes:
    """Rows as text in which values stand as they are, not escaped as `repr` would."""

    def values(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield str(key)
                yield from values(inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                yield from values(inner)
        elif isinstance(value, bytes):
            yield value.decode("utf-8", "replace")
        else:
            yield str(value)

    return "\n".join(text for row in rows for text in values(row)).encode()
