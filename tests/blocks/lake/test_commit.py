"""A phase run, written and read back; what a killed writer leaves; retries."""

import io
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blocks.errors import PermanentError
from blocks.lake import (
    ObjectStore,
    PhaseKey,
    PhaseWriter,
    ask_retry,
    attempt_of,
    commit_phase,
    find_manifest,
    load_rows,
    read_object,
    read_record,
)
from blocks.lake.commit import input_key
from blocks.lake.file import FileStore
from blocks.recipe import Package
from blocks.records import CandidateRow, Outcome, Phase, ReasonCode, RolloutRow, VerdictRow, VerifierRow

KEY = PhaseKey(candidate_id="c1", phase=Phase.CAPTURE, input_key="k1", upstream_key="k0")


def rollout(**changes: object) -> RolloutRow:
    values: dict[str, object] = {
        "candidate_id": "c1",
        "rollout_id": "r1",
        "environment_id": "e1",
        "agent": "nop",
        "model": None,
        "reward": 0.0,
        "exit_reason": "done",
        "steps": 1,
        "tokens": None,
        "cost_usd": None,
        "seconds": 1.5,
        "trajectory_uri": "u",
    }
    return RolloutRow.model_validate(values | changes)


def test_what_was_committed_is_read_back(store: ObjectStore, tmp_path: Path) -> None:
    writer = PhaseWriter(store, KEY)
    rows = [rollout(), rollout(rollout_id="r2", reward=None, model="m", tokens=5)]
    package = Package(name="p", version="1", filename="p.whl", sha256="0")
    (tmp_path / "log").write_text("many lines")
    writer.rows(rows)
    writer.record("package.json", package)
    writer.object("logs/build.txt", tmp_path / "log")
    assert find_manifest(store, KEY) is None
    manifest = commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "fine")
    assert find_manifest(store, KEY) == manifest
    assert load_rows(store, manifest, RolloutRow) == rows
    assert load_rows(store, manifest, VerdictRow) == []
    assert read_record(store, manifest, "package.json", Package) == package
    assert read_object(store, manifest, "logs/build.txt") == b"many lines"
    with pytest.raises(PermanentError, match="no file 'other'"):
        read_object(store, manifest, "other")
    late = commit_phase(PhaseWriter(store, KEY), Outcome.FAILED, ReasonCode.BUILD_FAILED, "too late")
    assert late == manifest
    store.put(KEY.prefix + "logs/build.txt", b"many lies!")
    with pytest.raises(PermanentError, match=r"logs/build\.txt.*sha256"):
        read_object(store, manifest, "logs/build.txt")


def test_files_of_other_versions_load(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    writer = PhaseWriter(store, KEY)
    old = pa.table(
        {
            "verifier_id": ["v"],
            "candidate_id": ["c1"],
            "grade": ["B"],
            "repeats": pa.array([3], pa.int32()),
            "gone": [1],
        }
    )
    buffer = io.BytesIO()
    pq.write_table(old, buffer)
    writer._put("verifiers.parquet", buffer.getvalue(), table="verifiers", count=1)
    full = writer.object("rollouts.parquet", _parquet(pa.Table.from_pylist([rollout().model_dump()]).drop(["model"])))
    assert full.endswith("rollouts.parquet")
    manifest = commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "")
    assert load_rows(store, manifest, RolloutRow) == [rollout()]
    with pytest.raises(PermanentError, match="must be optional"):
        load_rows(store, manifest, VerifierRow)


def test_retries_change_the_input_key(store: ObjectStore) -> None:
    assert attempt_of(store, "c1", Phase.QUALIFY) == 0
    assert [ask_retry(store, "c1", Phase.QUALIFY) for _ in range(11)] == list(range(1, 12))
    assert attempt_of(store, "c1", Phase.QUALIFY) == 11
    assert attempt_of(store, "c1", Phase.CAPTURE) == attempt_of(store, "c11", Phase.QUALIFY) == 0
    keys = {input_key(Phase.QUALIFY, 1, None, None, attempt) for attempt in range(12)}
    assert len(keys) == 12


def test_times_survive_parquet(tmp_path: Path) -> None:
    moment = datetime(2026, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)
    row = CandidateRow(
        candidate_id="c", contribution_id="b", source="cline", repository="r", start_commit="s", start_fidelity=1.0,
        instruction="é\0\n", language=None, created_at=moment,
    )  # fmt: skip
    store = FileStore(tmp_path)
    writer = PhaseWriter(store, KEY)
    writer.rows([row])
    manifest = commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "")
    assert load_rows(store, manifest, CandidateRow) == [row]


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
