"""Arrow schema and DDL follow the model."""

from datetime import UTC, datetime
from typing import ClassVar

import duckdb
import pyarrow as pa
import pytest

from blocks.errors import PermanentError
from blocks.records import TABLES, JsonColumn, Moment, ReasonCode, Row, Seconds, volatile_columns
from blocks.schema import arrow_schema, conform, table_ddl


class EveryKind(Row):
    """One column of each kind."""

    table = "every_kind"
    text: str
    code: ReasonCode
    maybe_code: ReasonCode | None
    number: int
    maybe_number: int | None
    share: float
    flag: bool
    at: Moment
    took: Seconds
    document: JsonColumn


def test_types_and_nullability() -> None:
    schema = arrow_schema(EveryKind)
    assert [(field.name, str(field.type), field.nullable) for field in schema] == [
        ("text", "string", False),
        ("code", "string", False),
        ("maybe_code", "string", True),
        ("number", "int64", False),
        ("maybe_number", "int64", True),
        ("share", "double", False),
        ("flag", "bool", False),
        ("at", "timestamp[us, tz=UTC]", False),
        ("took", "double", False),
        ("document", "string", False),
    ]
    assert volatile_columns(EveryKind) == {"at", "took"}


def test_a_row_goes_through_parquet_types_into_the_table_and_back() -> None:
    row = EveryKind(
        text="a\"b;--\0", code=ReasonCode.OK, maybe_code=None, number=2**62, maybe_number=None, share=0.1, flag=True,
        at=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC), took=1.5, document='{"a": [1]}',
    )  # fmt: skip
    arriving = pa.Table.from_pylist([row.model_dump()], schema=arrow_schema(EveryKind))
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'; CREATE SCHEMA s")
        connection.execute(table_ddl(EveryKind, "s", {"origin": "VARCHAR"}))
        connection.register("arriving", arriving)
        connection.execute("INSERT INTO s.every_kind BY NAME FROM arriving")
        found = connection.execute("SELECT * EXCLUDE (origin), document->'a'->>0 FROM s.every_kind").fetchall()
    assert found == [(*(value for value in row.model_dump().values()), "1")]


def test_other_versions_of_a_file_conform_or_say_why_not() -> None:
    table = pa.table({"number": pa.array([1], pa.int32()), "gone": ["x"]})
    conformed = conform(table, EveryKind)
    assert conformed.schema.names == list(EveryKind.model_fields)
    assert conformed.to_pylist()[0] == {**dict.fromkeys(EveryKind.model_fields), "number": 1}
    with pytest.raises(PermanentError, match=r"column number.*new name"):
        conform(pa.table({"number": ["many"]}), EveryKind)


def test_what_has_no_column_type_is_refused_when_the_schema_is_made() -> None:
    class Odd(Row):
        table: ClassVar[str] = "odd"
        names: list[str]

    with pytest.raises(TypeError, match=r"Odd\.names"):
        arrow_schema(Odd)


def test_every_table_has_a_schema() -> None:
    with duckdb.connect(":memory:") as connection:
        for row_type in TABLES:
            assert len(arrow_schema(row_type)) == len(row_type.model_fields)
            connection.execute(table_ddl(row_type))
