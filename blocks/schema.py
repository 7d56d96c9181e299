"""Arrow schema and table DDL of a row type, derived from its model here and nowhere else.

| model | Arrow and Parquet | DuckDB |
|---|---|---|
| str, StrEnum | string | VARCHAR |
| str marked as JSON | string | JSON |
| int | int64 | BIGINT |
| float | double | DOUBLE |
| bool | bool | BOOLEAN |
| datetime | timestamp(us, UTC) | TIMESTAMPTZ |

`X | None` is nullable in Parquet. In DuckDB every column is nullable, because files older than a column load as null.
"""

from datetime import datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Union, get_args, get_origin

import pyarrow as pa

from blocks.errors import PermanentError
from blocks.records import Row, json_columns

_SQL_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}


def arrow_schema(row_type: type[Row]) -> pa.Schema:
    """The schema of this row type's Parquet files, columns in the order of the model.

    Raises:
        TypeError: a field has a type that no column type stands for.
    """
    return pa.schema([_arrow_field(row_type, name) for name in row_type.model_fields])


def sql_columns(row_type: type[Row]) -> dict[str, str]:
    """Column name to DuckDB type, in the order of the model."""
    as_json = json_columns(row_type)
    return {
        field.name: "JSON" if field.name in as_json else _SQL_TYPES.get(str(field.type), "TIMESTAMPTZ")
        for field in arrow_schema(row_type)
    }


def table_ddl(row_type: type[Row], schema_name: str = "main", leading: dict[str, str] | None = None) -> str:
    """CREATE TABLE IF NOT EXISTS for this row type.

    Args:
        row_type: the model.
        schema_name: DuckDB schema the table lies in.
        leading: columns (name to DuckDB type) put before those of the model.
    """
    columns = {**(leading or {}), **sql_columns(row_type)}
    body = ",\n    ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
    return f"CREATE TABLE IF NOT EXISTS {quoted(schema_name)}.{quoted(row_type.table)} (\n    {body}\n)"


def conform(table: pa.Table, row_type: type[Row]) -> pa.Table:
    """The table with exactly the columns of the model: lacking ones are null, others are left out.

    Raises:
        PermanentError: a column holds values that its type cannot take.
    """
    schema = arrow_schema(row_type)
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        try:
            columns.append(table.column(field.name).cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise PermanentError(
                f"table {row_type.table}, column {field.name}: {error}; the file was written with another type of this "
                "column: give the new column a new name"
            ) from error
    return pa.Table.from_arrays(columns, schema=pa.schema([field.with_nullable(True) for field in schema]))


def quoted(name: str) -> str:
    """A SQL identifier, quoted."""
    return '"' + name.replace('"', '""') + '"'


def _arrow_field(row_type: type[Row], name: str) -> pa.Field:
    annotation: object = row_type.model_fields[name].annotation
    if get_origin(annotation) in (Union, UnionType):
        members = [member for member in get_args(annotation) if member is not NoneType]
        nullable = len(members) < len(get_args(annotation))
        annotation = members[0] if len(members) == 1 else annotation
    else:
        nullable = False
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return pa.field(name, _arrow_type(row_type, name, annotation), nullable=nullable)


def _arrow_type(row_type: type[Row], name: str, annotation: object) -> pa.DataType:
    if isinstance(annotation, type):
        if issubclass(annotation, str) and (annotation is str or issubclass(annotation, StrEnum)):
            return pa.string()
        if annotation is bool:
            return pa.bool_()
        if annotation is int:
            return pa.int64()
        if annotation is float:
            return pa.float64()
        if annotation is datetime:
            return pa.timestamp("us", tz="UTC")
    raise TypeError(
        f"{row_type.__name__}.{name}: {annotation!r} has no column type; blocks/schema.py lists those that have"
    )
