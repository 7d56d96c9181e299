"""Whole contributions: what is let in, what is refused and why. Nothing raises; no value of a session is in a message."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from blocks.lake.file import FileStore
from blocks.records import ReasonCode
from tasks.ingest.consent import consent_schema, statement_text
from tasks.ingest.contribution import ingest_contribution
from tasks.ingest.inbox import download_item, find_contributions, read_item
from tasks.ingest.result import IngestResult
from tests.tasks.ingest.exports import NOW, Row, agent, consent, opening, user, write_export

DATA = Path(__file__).resolve().parents[3] / "data"
SAMPLE = DATA / "sample"
SECRET = "ghp_" + "Qw8eR5tY2uI9oP3aS6dF1gH4jK7lZ0xC5vBn"


def ingest(folder: Path) -> IngestResult:
    return ingest_contribution(read_item(folder), now=NOW)


def refused(folder: Path) -> tuple[ReasonCode, str]:
    result = ingest(folder)
    assert result.candidates == ()
    (refusal,) = result.refusals
    assert SECRET not in refusal.message
    return refusal.reason_code, refusal.message


def test_the_sample_holds_nothing_that_was_planted() -> None:
    (item,) = find_contributions(SAMPLE / "inbox")
    result = ingest_contribution(item, now=NOW)
    assert result.refusals == ()
    (candidate,) = result.candidates
    row = candidate.row
    assert (row.source, row.language, row.start_fidelity) == ("cline", "python", None)
    assert row.repository == "https://github.com/lanternquay/gatehours"
    assert row.instruction == candidate.session.prompt
    serialised = result.model_dump_json()
    decoded = "\n".join(texts(json.loads(serialised)))
    planted = [entry["value"] for entry in json.loads((SAMPLE / "planted.json").read_text())]
    assert len(planted) == 22
    assert [value for value in planted if value in serialised or value in decoded] == []
    assert "marisol" not in decoded
    counts = {redaction.rule: redaction.count for redaction in candidate.redactions}
    assert counts["private-key"] == 2
    assert counts["stripe-access-token"] == 2
    edits = [edit for edit in candidate.session.edits if "REDACTED" in edit.model_dump_json()]
    assert edits == []
    assert ingest_contribution(item, now=NOW) == result


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    return [text for item in value for text in texts(item)] if isinstance(value, list) else []


def test_a_truncated_file_names_file_and_place(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "x", [opening(SECRET), agent("ok")])
    history = folder / "tasks" / "1700000000000" / "api_conversation_history.json"
    history.write_text(history.read_text()[:90])
    reason, message = refused(folder)
    assert reason is ReasonCode.FILE_UNREADABLE
    assert message.startswith("tasks/1700000000000/api_conversation_history.json is not complete JSON")
    assert "line 1 column" in message
    assert "of 90" in message


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not complete JSON"),
        (b"{}", "not a JSON array"),
        (b"[1]", "row 0 is no message"),
        (b'[{"role": "system", "content": ""}]', "row 0 is no message"),
        (b'["\xff"]', "not UTF-8 at byte 2"),
        (b"[" * 400 + b"]" * 400, "nested more than"),
        (b"[" * 200_000, "nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "too long"),
    ],
    ids=["empty", "object", "number", "role", "bytes", "deep", "deeper", "digits"],
)
def test_files_that_are_no_history(tmp_path: Path, content: bytes, fault: str) -> None:
    folder = write_export(tmp_path / "x", [])
    (folder / "tasks" / "1700000000000" / "api_conversation_history.json").write_bytes(content)
    reason, message = refused(folder)
    assert reason is ReasonCode.FILE_UNREADABLE
    assert fault in message


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "x", [opening()])
    history = folder / "tasks" / "1700000000000" / "api_conversation_history.json"
    (tmp_path / "elsewhere.json").write_bytes(history.read_bytes())
    history.unlink()
    history.symlink_to(tmp_path / "elsewhere.json")
    assert refused(folder)[0] is ReasonCode.FILE_UNREADABLE


def test_empty_and_unknown_folders(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refused(empty)[0] is ReasonCode.FOLDER_EMPTY
    (empty / "tasks").mkdir()
    (empty / "consent.json").write_text(json.dumps(consent()))
    assert refused(empty)[0] is ReasonCode.FOLDER_EMPTY
    (empty / "rollout.jsonl").write_text("{}")
    reason, message = refused(empty)
    assert reason is ReasonCode.FORMAT_UNKNOWN
    assert "rollout.jsonl" in message


CONSENTS: list[tuple[Row | None, ReasonCode, str]] = [
    (None, ReasonCode.CONSENT_MISSING, "consent.json is missing"),
    ({"schema_version": 2}, ReasonCode.CONSENT_INVALID, "schema_version"),
    ({"contributor": "me@x.dev"}, ReasonCode.CONSENT_INVALID, "contributor"),
    ({"scopes": ["everything"]}, ReasonCode.CONSENT_INVALID, "scopes.0"),
    ({"granted_at": "2026-05-12T09:30:00"}, ReasonCode.CONSENT_INVALID, "granted_at"),
    ({"granted_at": "2027-05-12T09:30:00Z"}, ReasonCode.CONSENT_INVALID, "future"),
    ({"surprise": 1}, ReasonCode.CONSENT_INVALID, "surprise"),
    ({"statement": {"version": "t", "text": "Other.", "sha256": "0" * 64}}, ReasonCode.CONSENT_INVALID, "hash"),
    ({"expires_at": "2026-11-29T00:00:00Z"}, ReasonCode.CONSENT_EXPIRED, "has expired"),
    ({"revoked_at": "2026-06-01T00:00:00Z"}, ReasonCode.CONSENT_EXPIRED, "revoked"),
    ({"scopes": ["train"]}, ReasonCode.CONSENT_MISMATCH, "publish_environment"),
    ({"sessions": ["1600000000000"]}, ReasonCode.CONSENT_MISMATCH, "1700000000000"),
    ({"repository": "https://github.com/lanternquay/teapot"}, ReasonCode.CONSENT_MISMATCH, "lanternquay/teapot"),
    ({"repository": "teapot"}, ReasonCode.CONSENT_INVALID, "repository"),
]


@pytest.mark.parametrize(("changes", "reason", "word"), CONSENTS, ids=[f"{c[1]}-{c[2][:12]}" for c in CONSENTS])
def test_no_consent_no_ingest(tmp_path: Path, changes: Row | None, reason: ReasonCode, word: str) -> None:
    folder = write_export(tmp_path / "x", [opening(SECRET)], record=consent(**(changes or {})))
    if changes is None:
        (folder / "consent.json").unlink()
    found, message = refused(folder)
    assert found is reason
    assert word in message


def test_consent_comes_before_reading_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    read = Path.read_bytes

    def noted(path: Path) -> bytes:
        opened.append(path.name)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    for changes in ({"scopes": ["train"]}, {"sessions": ["1"]}, {"revoked_at": "2026-06-01T00:00:00Z"}):
        folder = write_export(tmp_path / str(len(opened)), [opening()], record=consent(**changes))
        refused(folder)
    assert opened == ["consent.json"] * 3


def test_a_published_statement_cannot_be_reworded(tmp_path: Path) -> None:
    good = consent()
    statement = good["statement"]
    assert isinstance(statement, dict)
    folder = write_export(tmp_path / "x", [opening()], record=good | {"statement": statement | {"version": "1"}})
    assert refused(folder)[0] is ReasonCode.CONSENT_INVALID
    assert statement_text() != statement["text"]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([opening(" ")], ReasonCode.PROMPT_EMPTY),
        ([opening(remote=None)], ReasonCode.REPOSITORY_UNKNOWN),
        ([opening(remote="/srv/kettle.git")], ReasonCode.REPOSITORY_UNKNOWN),
        ([user("<task>\nhi\n</task>")], ReasonCode.REPOSITORY_UNKNOWN),
        ([opening(commit="")], ReasonCode.START_COMMIT_UNKNOWN),
        ([opening(commit="HEAD")], ReasonCode.START_COMMIT_UNKNOWN),
        ([], ReasonCode.REPOSITORY_UNKNOWN),
    ],
)
def test_sessions_that_cannot_be_pinned(tmp_path: Path, rows: list[Row], reason: ReasonCode) -> None:
    assert refused(write_export(tmp_path / "x", rows))[0] is reason


def test_one_bad_session_does_not_stop_the_others(tmp_path: Path) -> None:
    record = consent(sessions=["1", "2", "3"])
    folder = write_export(tmp_path / "x", [opening("First."), agent(SECRET)], task="1", record=record)
    write_export(folder, [opening("Second.")], task="2", record=record)
    write_export(folder, [opening("Uncovered.")], task="4", record=record)
    (folder / "tasks" / "3").mkdir()
    (folder / "tasks" / "2" / "api_conversation_history.json").write_text("[{")
    result = ingest(folder)
    assert [candidate.row.instruction for candidate in result.candidates] == ["First."]
    assert [(refusal.session_id, refusal.reason_code) for refusal in result.refusals] == [
        ("2", ReasonCode.FILE_UNREADABLE),
        ("3", ReasonCode.FILE_UNREADABLE),
        ("4", ReasonCode.CONSENT_MISMATCH),
    ]


def test_no_scanner_no_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_export(tmp_path / "x", [opening()])
    monkeypatch.setitem(__import__("sys").modules, "betterleaks", None)
    result = ingest(folder)
    assert result.candidates == ()
    assert (result.refusals[0].reason_code, result.refusals[0].infrastructure) == (ReasonCode.SCANNER_FAILED, True)


def test_a_task_folder_by_itself(tmp_path: Path) -> None:
    place = write_export(tmp_path / "x", [opening()]) / "tasks" / "1700000000000"
    (place / "consent.json").write_text(json.dumps(consent()))
    result = ingest(place)
    assert [candidate.session.session_id for candidate in result.candidates] == ["1700000000000"]


def test_ids_follow_content_not_names(tmp_path: Path) -> None:
    first = read_item(write_export(tmp_path / "a", [opening()]))
    second = read_item(write_export(tmp_path / "b", [opening()]))
    other = read_item(write_export(tmp_path / "c", [opening("Else.")]))
    assert first.contribution_id == second.contribution_id != other.contribution_id
    assert first.contribution_id.startswith("x-")
    for name in ("e1", "e2"):
        (tmp_path / name).mkdir()
    assert read_item(tmp_path / "e1").contribution_id != read_item(tmp_path / "e2").contribution_id
    ids = {
        candidate.row.candidate_id
        for item in (first, second)
        for candidate in ingest_contribution(item, now=NOW + timedelta(days=1)).candidates
    }
    assert len(ids) == 1
    assert len(next(iter(ids))) == 18


def test_what_counts_as_a_contribution(tmp_path: Path) -> None:
    write_export(tmp_path / "b", [opening()])
    write_export(tmp_path / ".draft", [opening()])
    (tmp_path / "link").symlink_to(tmp_path / "b")
    (tmp_path / "loose.json").write_text("{}")
    strange = tmp_path / os.fsdecode(b"n\xff")
    strange.mkdir()
    names = [item.name for item in find_contributions(tmp_path)]
    assert names == ["b", "n\ufffd"]
    assert refused(strange)[0] is ReasonCode.FOLDER_EMPTY


def test_an_inbox_in_an_object_store(tmp_path: Path) -> None:
    local = write_export(tmp_path / "inbox" / "b", [opening()])
    store = FileStore(tmp_path / "store")
    for path in sorted(path for path in (tmp_path / "inbox").rglob("*") if path.is_file()):
        store.put(path.relative_to(tmp_path / "inbox").as_posix(), path)
    copied = download_item(store, "b", tmp_path / "copy")
    assert read_item(copied).contribution_id == read_item(local).contribution_id


def test_the_schema_is_the_records() -> None:
    """Write it again with: python -c "from tasks.ingest.consent import *; print(consent_schema(), end='')"."""
    assert (DATA / "schemas" / "consent.schema.json").read_text(encoding="utf-8") == consent_schema()


def test_the_sample_agrees_to_the_published_statement() -> None:
    (folder,) = (SAMPLE / "inbox").iterdir()
    assert json.loads((folder / "consent.json").read_text())["statement"]["text"] == statement_text()
