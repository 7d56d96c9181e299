"""The catalog of a lake on a real S3 server, and an analyst elsewhere who attaches it over httpfs."""

import secrets
from pathlib import Path

import duckdb
import pytest

from blocks.catalog import compare, index, rebuild
from blocks.catalog.httpfs import attach_from_store, load_httpfs
from blocks.errors import PermanentError, UsageError
from blocks.lake import open_store
from blocks.records import Outcome, Phase, ReasonCode
from blocks.settings import Settings
from tests.blocks.catalog.hand import refuse, walk
from tests.s3server import S3Server

pytestmark = pytest.mark.s3


def test_index_attach_and_rebuild(s3_server: S3Server, tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path / "home", lake=f"s3://{s3_server.bucket}/lake-{secrets.token_hex(4)}", s3=s3_server.settings
    )
    store = open_store(settings)
    with duckdb.connect(":memory:") as analyst, pytest.raises(PermanentError, match=r"catalog\.duckdb"):
        attach_from_store(analyst, settings)
    walk(store, "a", Phase.PUBLISH)
    walk(store, "b", Phase.QUALIFY, Outcome.REJECTED, ReasonCode.CHANGE_TRIVIAL)
    refuse(store, "r")
    assert index(store, settings).manifests == 10
    with duckdb.connect(":memory:") as analyst:
        attach_from_store(analyst, settings, "cat")
        assert analyst.execute("SELECT phase, entered, passed FROM cat.funnel LIMIT 2").fetchall() == [
            ("ingest", 3, 2),
            ("qualify", 2, 1),
        ]
        assert analyst.execute("SELECT status FROM cat.candidates ORDER BY ALL").fetchall() == [
            ("disqualified",),
            ("published",),
        ]
        with pytest.raises(duckdb.Error):
            analyst.execute("DELETE FROM cat.history.candidates")
    elsewhere = Settings(home=tmp_path / "elsewhere", lake=settings.lake, s3=settings.s3)
    assert rebuild(open_store(elsewhere), elsewhere).manifests == 10
    assert compare(settings.catalog_path, elsewhere.catalog_path, "history") == []


def test_httpfs_comes_from_the_wheel_where_none_is_installed(tmp_path: Path) -> None:
    with duckdb.connect(":memory:", config={"extension_directory": str(tmp_path)}) as connection:
        assert load_httpfs(connection) == "wheel"
    with duckdb.connect(":memory:") as connection, pytest.raises(UsageError, match="s3://"):
        attach_from_store(connection, Settings(home=tmp_path))
