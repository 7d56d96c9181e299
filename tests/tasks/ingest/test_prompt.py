"""Bare prompts: written by `contribute`, read back by ingest."""

import json
from pathlib import Path

import pytest

from blocks.errors import UsageError
from blocks.records import ReasonCode
from tasks.ingest.consent import Scope
from tasks.ingest.contribution import ingest_contribution
from tasks.ingest.inbox import find_contributions, read_item
from tasks.ingest.prompt import write_prompt_contribution
from tests.tasks.ingest.exports import COMMIT, NOW

ALL = tuple(Scope)


def write(inbox: Path, **changes: object) -> Path:
    given: dict[str, object] = {
        "repository": "git@github.com:lanternquay/kettle.git",
        "commit": COMMIT.upper(),
        "prompt": "\nMake it whistle; ask ada@kettle.dev.\n",
        "contributor": "ada@kettle.dev",
        "scopes": ALL,
        "now": NOW,
    }
    return write_prompt_contribution(inbox, **(given | changes))  # type: ignore[arg-type]


def test_written_and_read_back(tmp_path: Path) -> None:
    folder = write(tmp_path / "inbox")
    assert write(tmp_path / "inbox") == folder
    assert sorted(path.name for path in folder.iterdir()) == ["consent.json", "contribution.json", "prompt.md"]
    assert "ada@kettle.dev" not in (folder / "consent.json").read_text()
    (item,) = find_contributions(tmp_path / "inbox")
    result = ingest_contribution(item, now=NOW)
    assert result.refusals == ()
    (candidate,) = result.candidates
    assert (candidate.row.source, candidate.row.start_fidelity, candidate.row.language) == ("prompt", 1.0, None)
    assert candidate.row.repository == "https://github.com/lanternquay/kettle"
    assert candidate.row.start_commit == COMMIT
    assert candidate.row.instruction == "Make it whistle; ask <mail-1>."
    assert len(candidate.session.steps) == 1
    assert [(row.rule, row.count) for row in candidate.redactions] == [("mail", 1)]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"prompt": " \n"}, "prompt is empty"),
        ({"commit": "3f3f3f3"}, "40 hex digits"),
        ({"repository": "/srv/kettle"}, "kettle"),
        ({"contributor": " "}, "contributor is empty"),
        ({"scopes": (Scope.TRAIN,)}, "publish_environment"),
    ],
)
def test_wrong_use_writes_nothing(tmp_path: Path, changes: dict[str, object], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        write(tmp_path / "inbox", **changes)
    assert not (tmp_path / "inbox").exists()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("prompt.md", " \n", ReasonCode.PROMPT_EMPTY),
        ("prompt.md", "Another prompt than was agreed to.", ReasonCode.CONSENT_MISMATCH),
        ("prompt.md", None, ReasonCode.FILE_UNREADABLE),
        ("contribution.json", "{", ReasonCode.FILE_UNREADABLE),
        ("contribution.json", "[]", ReasonCode.REPOSITORY_UNKNOWN),
        (
            "contribution.json",
            json.dumps({"repository": "https://github.com/lanternquay/kettle", "commit": "main"}),
            ReasonCode.START_COMMIT_UNKNOWN,
        ),
        (
            "contribution.json",
            json.dumps({"repository": "https://github.com/lanternquay/teapot", "commit": COMMIT}),
            ReasonCode.CONSENT_MISMATCH,
        ),
        ("consent.json", None, ReasonCode.CONSENT_MISSING),
    ],
)
def test_tampered_contributions_are_refused(tmp_path: Path, name: str, content: str | None, reason: ReasonCode) -> None:
    folder = write(tmp_path / "inbox")
    (folder / name).unlink() if content is None else (folder / name).write_text(content)
    (refusal,) = ingest_contribution(read_item(folder), now=NOW).refusals
    assert refusal.reason_code is reason
