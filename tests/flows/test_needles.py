"""A search that finds nothing proves nothing unless it finds what is there."""

import gzip
import io
import json
import sqlite3
import tarfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tests.flows.needles import find_needles

NEEDLE = "needle: C:\\Users\\mo\nsecond line of it"


def test_needles_are_found_in_every_format(tmp_path: Path) -> None:
    rows = [f"straw number {number}" for number in range(5000)]
    haystack = "\n".join([*rows, NEEDLE, *rows])
    (tmp_path / "text").write_text(haystack)
    (tmp_path / "json").write_text(json.dumps({"text": haystack}))
    (tmp_path / "json-in-json").write_text(json.dumps(json.dumps({"text": haystack})))
    table = pa.table({"column": [haystack], "list": [[{"inner": "x"}]]})
    pq.write_table(table, tmp_path / "parquet", compression="zstd")
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as archive:
        member = tarfile.TarInfo("rows.parquet")
        content = (tmp_path / "parquet").read_bytes()
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    (tmp_path / "nested.tar.gz").write_bytes(inner.getvalue())
    (tmp_path / "gzip").write_bytes(gzip.compress(haystack.encode()))
    with duckdb.connect(str(tmp_path / "duckdb")) as connection:
        connection.execute("CREATE TABLE hay AS SELECT 'straw number ' || i % 5000 AS straw FROM range(200000) t(i)")
        connection.execute("INSERT INTO hay VALUES (?)", [NEEDLE])
    rows_of_text = sqlite3.connect(tmp_path / "sqlite")
    rows_of_text.execute("CREATE TABLE hay (straw TEXT)")
    rows_of_text.execute("INSERT INTO hay VALUES (?)", [haystack])
    rows_of_text.commit()
    rows_of_text.close()

    found = find_needles(tmp_path, [NEEDLE])

    files = {Path(line.removeprefix(f"{tmp_path}/").split("!")[0].split(" ")[0].split(":")[0]).name for line in found}
    assert files == {"text", "json", "json-in-json", "parquet", "nested.tar.gz", "gzip", "duckdb", "sqlite"}
    assert find_needles(tmp_path, ["straw number 5000"]) == []
