"""Several threads of one process ask the catalog at the same time, as the qualifiers do."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from blocks.catalog import index, query
from blocks.lake import open_store
from blocks.settings import Settings


def test_threads_do_not_lock_each_other_out(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    index(open_store(settings), settings)
    asked = "SELECT count(*) FROM candidates"
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: query(settings.catalog_path, asked).rows, range(64)))
    assert found == [[(0,)]] * 64
