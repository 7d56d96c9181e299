"""What ingest writes: idempotent, complete, and without a byte of what was redacted."""

import json
from pathlib import Path

import pytest

from blocks.errors import PermanentError
from blocks.lake.file import FileStore
from blocks.records import Outcome, ReasonCode
from blocks.session import Session
from tasks.ingest.commit import SESSION, commit_contribution, find_committed
from tasks.ingest.contribution import ingest_contribution
from tasks.ingest.inbox import find_contributions, read_item
from tests.tasks.ingest.exports import NOW, opening, write_export

SAMPLE = Path(__file__).resolve().parents[3] / "data" / "sample"


def test_the_sample_in_a_lake(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "lake")
    (item,) = find_contributions(SAMPLE / "inbox")
    assert find_committed(store, item) is None
    result = ingest_contribution(item, now=NOW)
    commit = commit_contribution(store, item, result, flow_run_id="run-1")
    assert (commit.contribution.outcome, commit.contribution.reason_code) == (Outcome.PASSED, ReasonCode.OK)
    (candidate,) = commit.candidates
    assert [entry.name for entry in candidate.files] == [
        "candidates.parquet",
        "redactions.parquet",
        "session.json",
        "instruction.md",
    ]
    stored = Session.model_validate_json(store.get(candidate.key.prefix + SESSION))
    assert stored == result.candidates[0].session
    assert find_committed(store, item) == commit.contribution
    again = commit_contribution(store, item, result)
    assert (again.contribution, again.candidates) == (commit.contribution, commit.candidates)
    content = b"\n".join(path.read_bytes() for path in sorted((tmp_path / "lake").rglob("*")) if path.is_file())
    for entry in json.loads((SAMPLE / "planted.json").read_text()):
        for form in (entry["value"], json.dumps(entry["value"])[1:-1]):
            assert form.encode() not in content, entry["kind"]
    assert b"marisolquint" not in content


def test_a_refused_contribution_leaves_its_reason_only(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "lake")
    folder = write_export(tmp_path / "x", [opening("A prompt to be forgotten.")])
    (folder / "consent.json").unlink()
    item = read_item(folder)
    commit = commit_contribution(store, item, ingest_contribution(item, now=NOW))
    assert commit.candidates == ()
    assert (commit.contribution.outcome, commit.contribution.reason_code) == (
        Outcome.REJECTED,
        ReasonCode.CONSENT_MISSING,
    )
    assert "consent.json is missing" in commit.contribution.message
    files = [path for path in (tmp_path / "lake").rglob("*") if path.is_file()]
    assert not any(b"forgotten" in path.read_bytes() for path in files)
    assert find_committed(store, item) == commit.contribution


def test_without_a_scanner_nothing_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(tmp_path / "lake")
    item = read_item(write_export(tmp_path / "x", [opening()]))
    with monkeypatch.context() as patched:
        patched.setitem(__import__("sys").modules, "betterleaks", None)
        result = ingest_contribution(item, now=NOW)
    with pytest.raises(PermanentError, match="secret scanner"):
        commit_contribution(store, item, result)
    assert find_committed(store, item) is None
    assert [entry.key for entry in store.list("candidates/")] == []
    commit = commit_contribution(store, item, ingest_contribution(item, now=NOW))
    assert commit.contribution.outcome is Outcome.PASSED
