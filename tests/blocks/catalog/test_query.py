"""Readers: never in the writer's way, and a user's SQL reaches nothing but the catalog."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from blocks.catalog import index, open_catalog, query
from blocks.errors import PermanentError, UsageError
from blocks.lake import ObjectStore, open_store
from blocks.records import Phase
from blocks.settings import Settings
from tests.blocks.catalog.hand import walk


def test_a_reader_keeps_the_snapshot_it_opened(store: ObjectStore, settings: Settings) -> None:
    walk(store, "a", Phase.QUALIFY)
    index(store, settings)
    with open_catalog(settings.catalog_path) as old:
        assert old.execute("SELECT count(*) FROM verdicts").fetchone() == (2,)
        walk(store, "b", Phase.QUALIFY)
        index(store, settings)
        assert old.execute("SELECT count(*) FROM verdicts").fetchone() == (2,)
        assert old.execute("SELECT count(*) FROM test_results, funnel").fetchone() == (0,)
    assert query(settings.catalog_path, "SELECT count(*) FROM verdicts").rows == [(4,)]
    assert sorted(path.name for path in settings.home.iterdir()) == ["catalog.duckdb", "index", "lake"]


def test_queries_at_the_same_time_do_not_meet(store: ObjectStore, settings: Settings) -> None:
    """In one process, with a user's locked settings in force, and the snapshot replaced in between."""
    walk(store, "a", Phase.QUALIFY)
    index(store, settings)
    with open_catalog(settings.catalog_path) as held:
        held.execute("SET lock_configuration = true")
        walk(store, "b", Phase.QUALIFY)
        index(store, settings)
        with ThreadPoolExecutor(8) as threads:
            asked = [threads.submit(query, settings.catalog_path, "SELECT count(*) FROM verdicts") for _ in range(24)]
            assert {tuple(each.result().rows) for each in asked} == {((4,),)}
        assert held.execute("SELECT count(*) FROM verdicts").fetchone() == (2,)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    store = open_store(settings)
    walk(store, "a", Phase.QUALIFY)
    index(store, settings)
    (settings.home / "secret.csv").write_text("password\nhunter2\n")
    return settings.catalog_path


def test_columns_types_and_moments(catalog: Path) -> None:
    result = query(
        catalog,
        "SELECT candidate_id, created_at, evidence, confidence FROM candidates JOIN verdicts USING (candidate_id)",
    )
    assert [tuple(column) for column in result.columns] == [
        ("candidate_id", "VARCHAR"),
        ("created_at", "TIMESTAMP WITH TIME ZONE"),
        ("evidence", "JSON"),
        ("confidence", "DOUBLE"),
    ]
    moment = result.rows[0][1]
    assert isinstance(moment, datetime) and moment == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert query(catalog, "SELECT evidence->>'seen' FROM verdicts").rows == [("1",), ("1",)]
    assert query(catalog, "SELECT 1 WHERE false").rows == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELEC 1",
        "FROM nothing",
        "FROM read_text('{secret}')",
        "FROM '{secret}'",
        "FROM sniff_csv('{secret}')",
        "FROM glob('{folder}/*')",
        "COPY candidates TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/out.duckdb'",
        "ATTACH 'http://127.0.0.1:9/x.duckdb' AS x",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA profiling_output = '{folder}/out.json'",
        "CREATE TABLE t (a INT)",
        "DROP VIEW funnel",
        "DELETE FROM history.candidates",
        "FROM secret_rows",
        "SELECT getenv('HOME')",
    ],
)
def test_what_a_user_may_not(catalog: Path, sql: str) -> None:
    secret_rows = [{"password": "hunter2"}]  # a variable that DuckDB would find by its name
    assert secret_rows
    before = sorted(path.name for path in catalog.parent.iterdir())
    with pytest.raises(UsageError, match="the query failed"):
        query(catalog, sql.format(secret=catalog.parent / "secret.csv", folder=catalog.parent))
    assert sorted(path.name for path in catalog.parent.iterdir()) == before


def test_no_catalog_and_no_database(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no catalog yet"):
        query(tmp_path / "catalog.duckdb", "SELECT 1")
    (tmp_path / "catalog.duckdb").write_bytes(b"x" * 5000)
    with pytest.raises(PermanentError, match="catalog rebuild"):
        query(tmp_path / "catalog.duckdb", "SELECT 1")
