"""The indexer: loads everything once, survives what writers and it itself leave behind, and can start over."""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blocks.catalog import CommittedKey, committed_keys, compare, index, index_path, query, rebuild
from blocks.catalog.tables import open_index
from blocks.errors import PermanentError, TransientError
from blocks.lake import LeaseHeldError, ObjectInfo, ObjectStore, PhaseKey, PhaseWriter, acquire_lease, commit_phase
from blocks.lake.commit import record_crash
from blocks.lake.file import FileStore
from blocks.records import Outcome, Phase, ReasonCode, VerifierRow
from blocks.settings import Settings
from tests.blocks.catalog.hand import contribute, five_writes, refuse, row, walk

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def small_world(store: ObjectStore) -> None:
    contribute(store, "of-a")
    refuse(store, "refused")
    walk(store, "a", Phase.PUBLISH)
    walk(store, "b", Phase.CONTAINERIZE, Outcome.FAILED, ReasonCode.BUILD_FAILED)
    crash(store, "b")


def crash(store: ObjectStore, candidate_id: str) -> None:
    key = PhaseKey(candidate_id=candidate_id, phase=Phase.SYNTHESIS, input_key="k", upstream_key="u")
    record_crash(PhaseWriter(store, key), "the engine went away")


def count(settings: Settings, table: str) -> object:
    return query(settings.catalog_path, f"SELECT count(*) FROM {table}").rows[0][0]


def test_everything_once_in_any_order_and_the_same_from_the_objects_alone(
    store: ObjectStore, settings: Settings
) -> None:
    small_world(store)
    first = index(store, settings)
    assert (first.manifests, first.crashes, first.waiting, first.faults) == (13, 1, 0, ())
    runs = count(settings, "phase_runs")
    assert runs == 14
    before = settings.catalog_path.stat().st_ino
    again = index(store, settings)
    assert (again.manifests, again.rows) == (0, 0)
    assert settings.catalog_path.stat().st_ino == before, "nothing new, so the snapshot stays"
    walk(store, "c", Phase.ARCHAEOLOGY)
    second = index(store, settings)
    assert (second.manifests, second.crashes) == (3, 0)
    kept = settings.home / "kept.duckdb"
    settings.catalog_path.replace(kept)
    third = rebuild(store, settings)
    assert (third.manifests, third.rows) == (16, first.rows + second.rows)
    for schema in ("main", "history"):
        assert compare(kept, settings.catalog_path, schema) == []  # type: ignore[arg-type]
    assert index(store, settings).manifests == 0
    assert [path.name for path in index_path(settings).parent.iterdir()] == ["catalog.duckdb"]


def test_compare_sees_one_changed_cell_but_not_a_volatile_one(
    store: ObjectStore, settings: Settings, tmp_path: Path
) -> None:
    small_world(store)
    index(store, settings)
    other = Settings(home=tmp_path / "other")
    small_world(FileStore(other.home / "lake"))
    index(FileStore(other.home / "lake"), other)
    assert compare(settings.catalog_path, other.catalog_path) == [], "another lake, another time, the same work"
    with open_index(index_path(other)) as connection:
        connection.execute("UPDATE history.environments SET leak_hits = 1 WHERE candidate_id = 'a'")
        connection.execute("UPDATE history.environments SET size_bytes = 99")
        connection.execute("DELETE FROM history.test_results WHERE test_id = 't1'")
    found = compare(settings.catalog_path, index_path(other))
    assert [(difference.table, difference.only_in, difference.rows) for difference in found] == [
        ("environments", "a", 1),
        ("environments", "b", 1),
        ("test_results", "a", 1),
    ]
    assert "'leak_hits': '1'" in found[1].examples[0]


def test_committed_keys_are_all_that_ever_committed(store: ObjectStore, settings: Settings) -> None:
    manifests = walk(store, "a", Phase.QUALIFY, Outcome.REJECTED, ReasonCode.CHANGE_TRIVIAL)
    crash(store, "a")
    index(store, settings)
    assert committed_keys(settings.catalog_path) == {
        CommittedKey("a", "ingest", manifests[0].key.input_key, "passed"),
        CommittedKey("a", "qualify", manifests[1].key.input_key, "rejected"),
    }


@pytest.mark.parametrize("survived", range(1, 6))
def test_a_writer_killed_between_any_two_writes(store: ObjectStore, settings: Settings, survived: int) -> None:
    """Writes of the run: two Parquet files, an object, the pointer, the manifest. It dies right after `survived` of them."""
    code = """
import os, signal, sys
from pathlib import Path
from blocks.lake.file import FileStore
from tests.blocks.catalog.hand import five_writes
left = int(sys.argv[2])
def dying(write):
    def wrapped(*arguments):
        global left
        done = write(*arguments)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    return wrapped
store = FileStore(Path(sys.argv[1]))
store.put, store.put_if_absent = dying(store.put), dying(store.put_if_absent)
five_writes(store)
"""
    assert isinstance(store, FileStore)
    killed = subprocess.run([sys.executable, "-c", code, str(store.root), str(survived)], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    committed = survived == 5
    report = index(store, settings)
    assert (report.manifests, report.waiting) == (int(committed), int(survived == 4))
    assert report.faults == () and count(settings, "candidates") == int(committed)
    if committed:
        with pytest.raises(TransientError, match="committed by another worker"):
            five_writes(store)
    else:
        five_writes(store)
    report = index(store, settings)
    assert (report.manifests, report.waiting) == (int(not committed), 0)
    assert count(settings, "candidates") == count(settings, "history.redactions") == count(settings, "phase_runs") == 1
    kept = settings.home / "kept.duckdb"
    settings.catalog_path.replace(kept)
    rebuild(store, settings)
    assert compare(kept, settings.catalog_path, "history") == []


def test_a_pointer_waits_for_a_week(store: ObjectStore, settings: Settings) -> None:
    pointer = f"log/{datetime.now(UTC):%Y-%m-%d}/000000.000000-{'0' * 16}.json"
    store.put(pointer, json.dumps({"path": "candidates/a/ingest/k/manifest.json"}).encode())
    store.put("log/2020-01-01/stray.json", b"not a pointer")
    assert index(store, settings).waiting == 2
    assert rebuild(store, settings).waiting == 2
    with open_index(index_path(settings)) as connection:
        connection.execute("UPDATE history.waiting SET first_seen = ?", [datetime.now(UTC) - timedelta(days=8)])
    assert index(store, settings).waiting == 0
    assert index(store, settings).waiting == 0


def test_one_bad_object_does_not_stop_the_rest(store: ObjectStore, settings: Settings) -> None:
    bad = walk(store, "bad", Phase.INGEST)[0]
    good = walk(store, "good", Phase.INGEST)[0]
    content = store.get(bad.key.prefix + "candidates.parquet")
    store.put(bad.key.prefix + "candidates.parquet", content + b"x")
    store.put("candidates/x/ingest/k/manifest.json", store.get(good.key.prefix + "manifest.json"))
    report = index(store, settings)
    assert report.manifests == 1 and report.waiting == 1
    assert len(report.faults) == 1 and "candidates/bad/ingest/" in report.faults[0] and "sha256" in report.faults[0]
    assert len(rebuild(store, settings).faults) == 2, "a manifest in the wrong place has no pointer, but is found"
    store.put(bad.key.prefix + "candidates.parquet", content)
    report = index(store, settings)
    assert (report.manifests, report.waiting, report.faults) == (1, 0, ())


def test_files_and_index_of_older_records_load(store: ObjectStore, settings: Settings) -> None:
    full = row(VerifierRow, candidate_id="a", verifier_id="v", guess_odds=0.5)
    walk(store, "a", Phase.INGEST)
    index(store, settings)
    with open_index(index_path(settings)) as connection:
        connection.execute("DROP VIEW gate_loss")
        connection.execute("ALTER TABLE history.verifiers DROP COLUMN guess_odds")
        connection.execute("UPDATE history.layout SET digest = 'older'")
    writer = PhaseWriter(store, PhaseKey(candidate_id="a", phase=Phase.INGEST, input_key="later"))
    table = (
        pa.Table.from_pylist([full.model_dump()]).drop(["twins", "grade"]).append_column("unheard_of", pa.array([1]))
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    writer._put("verifiers.parquet", buffer.getvalue(), table="verifiers", count=1)
    commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "")
    report = index(store, settings)
    assert report.faults == () and report.manifests == 1
    assert query(settings.catalog_path, "SELECT verifier_id, guess_odds, twins, grade FROM history.verifiers").rows == [
        ("v", 0.5, None, None)
    ]
    assert count(settings, "gate_loss") == 12
    with open_index(index_path(settings)) as connection:
        connection.execute("ALTER TABLE history.costs ALTER COLUMN value TYPE VARCHAR")
    with pytest.raises(PermanentError, match="catalog rebuild"):
        index(store, settings)
    rebuild(store, settings)
    assert index(store, settings).faults == ()


def test_one_indexer_at_a_time_and_a_broken_index_is_rebuilt(store: ObjectStore, settings: Settings) -> None:
    small_world(store)
    with acquire_lease(store, "catalog", ttl_sec=60):
        for work in (index, rebuild):
            with pytest.raises(LeaseHeldError, match="catalog"):
                work(store, settings)
    index(store, settings)
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(index_path(settings))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline()
        with pytest.raises(TransientError, match="another process"):
            index(store, settings)
    finally:
        holder.communicate()
    index_path(settings).write_bytes(b"this is not a database" * 1000)
    with pytest.raises(PermanentError, match="catalog rebuild"):
        index(store, settings)
    (index_path(settings).parent / "rebuild-left.duckdb").write_bytes(b"of a killed rebuild")
    assert rebuild(store, settings).manifests == 13
    assert index(store, settings).manifests == 0
    assert [path.name for path in index_path(settings).parent.iterdir()] == ["catalog.duckdb"]


class Dying(FileStore):
    """Dies while the indexer reads the lake for the second half."""

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        if prefix == "tombstones/":
            raise KeyboardInterrupt
        return super().list(prefix)


def test_an_indexer_that_dies_half_way_is_picked_up(store: ObjectStore, settings: Settings) -> None:
    assert isinstance(store, FileStore)
    small_world(store)
    with pytest.raises(KeyboardInterrupt):
        index(Dying(store.root), settings)
    assert not settings.catalog_path.exists()
    assert index(store, settings).manifests == 0
    assert count(settings, "phase_runs") == 14
    assert [row[0] for row in query(settings.catalog_path, "SELECT status FROM candidates ORDER BY 1").rows] == [
        "build_failed",
        "published",
    ]
