"""What analysts see in schema `main`: per table the current rows, and the views of data/sql.

Current are the rows of each candidate's chain of manifests: the latest ingest, then for each next phase the latest
manifest that was made from the current one of the phase before (its upstream key). `phase_runs` shows all runs.
"""

import hashlib
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import duckdb

from blocks.catalog.tables import SCHEMA
from blocks.errors import PermanentError
from blocks.records import TABLES, CandidateRow, Phase, PhaseRunRow
from blocks.schema import quoted

SQL_FOLDER = Path(__file__).parents[2] / "data" / "sql"
"""One file per view, named like it."""

_LATEST = """
INSERT INTO history.current
SELECT new.* FROM history.manifests new
WHERE new.phase = $phase AND new.scope = $scope {condition}
QUALIFY row_number() OVER (PARTITION BY new.candidate_id ORDER BY new.committed_at DESC, new.input_key) = 1
"""
_FOLLOWS = """
AND (new.candidate_id, new.upstream_key) IN (
    SELECT (candidate_id, input_key) FROM history.current WHERE phase = $before AND scope = $scope
)
"""


def find_current(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill `history.current` anew from `history.manifests`. One transaction is the caller's."""
    connection.execute("DELETE FROM history.current")
    connection.execute(_LATEST.format(condition=""), {"phase": Phase.INGEST.value, "scope": "contributions"})
    before: Phase | None = None
    for phase in Phase:
        values = {"phase": phase.value, "scope": "candidates"}
        if before is None:
            connection.execute(_LATEST.format(condition=""), values)
        else:
            connection.execute(_LATEST.format(condition=_FOLLOWS), {**values, "before": before.value})
        before = phase


def create_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Make every view anew. One transaction is the caller's.

    Raises:
        PermanentError: data/sql is missing or a file in it is not valid.
    """
    for row_type in TABLES:
        if row_type is CandidateRow:
            continue
        columns = ", ".join(map(quoted, row_type.model_fields))
        current = "" if row_type is PhaseRunRow else " WHERE manifest IN (SELECT manifest FROM history.current)"
        connection.execute(
            f"CREATE OR REPLACE VIEW main.{quoted(row_type.table)} AS "
            f"SELECT {columns} FROM {SCHEMA}.{quoted(row_type.table)}{current}"
        )
    for path in _in_order(sql_files()):
        try:
            connection.execute(path.read_text(encoding="utf-8"))
        except duckdb.Error as error:
            raise PermanentError(f"{path}: {error}; correct the view") from error


def sql_files() -> list[Path]:
    """The files of data/sql. Raises PermanentError where there is none."""
    files = sorted(SQL_FOLDER.glob("*.sql"))
    if not files:
        raise PermanentError(f"{SQL_FOLDER}: no views there; run envmill from its checkout or image")
    return files


def layout_digest() -> str:
    """Changes with the records and the views: an index laid out otherwise gets its views anew."""
    columns = [f"{row_type.table}({','.join(row_type.model_fields)})" for row_type in TABLES]
    texts = [path.name + "\n" + path.read_text(encoding="utf-8") for path in sql_files()]
    return hashlib.sha256("\n".join([*columns, *texts]).encode()).hexdigest()


def _in_order(files: list[Path]) -> list[Path]:
    """Files whose views others use come first; a view names others as `main.<name>`."""
    by_name = {path.stem: path for path in files}
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for name, path in by_name.items():
        used = set(re.findall(r"\bmain\.(\w+)", path.read_text(encoding="utf-8")))
        sorter.add(name, *sorted(used & by_name.keys() - {name}))
    try:
        return [by_name[name] for name in sorter.static_order()]
    except CycleError as error:
        raise PermanentError(f"{SQL_FOLDER}: views that use each other in a circle: {error.args[1]}") from error
