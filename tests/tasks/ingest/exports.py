"""Writes small Cline exports and consent records into a test's own folder."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

REPOSITORY = "https://github.com/lanternquay/kettle"
COMMIT = "3f" * 20
ROOT = "/home/teresabrandt/src/kettle"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
STATEMENT = "I agree."

Row = dict[str, object]


def environment(
    root: str = ROOT, remote: str | None = "git@github.com:lanternquay/kettle.git", commit: str = COMMIT
) -> str:
    space = {"hint": "kettle", "associatedRemoteUrls": [f"origin: {remote}"] if remote else []}
    if commit:
        space["latestGitCommitHash"] = commit
    configuration = json.dumps({"workspaces": {root: space}}, indent=2)
    return (
        f"<environment_details>\n# Current Working Directory ({root}) Files\nREADME.md\n\n"
        f"# Workspace Configuration\n{configuration}\n\n# Current Mode\nACT MODE\n</environment_details>"
    )


def user(*texts: str) -> Row:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def results(*pairs: tuple[str, str]) -> Row:
    content = [{"type": "tool_result", "tool_use_id": key, "content": text} for key, text in pairs]
    return {"role": "user", "content": content}


def agent(text: str = "", *calls: tuple[str, str, Row]) -> Row:
    content: list[Row] = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": key, "name": name, "input": given} for key, name, given in calls]
    return {"role": "assistant", "content": content}


def opening(prompt: str = "Make the kettle whistle.", **place: str | None) -> Row:
    return user(f"<task>\n{prompt}\n</task>", environment(**place))  # type: ignore[arg-type]


def consent(**changes: object) -> Row:
    record: Row = {
        "schema_version": 1,
        "contributor": f"sha256:{hashlib.sha256(b'someone').hexdigest()}",
        "statement": {
            "version": "test",
            "text": STATEMENT,
            "sha256": hashlib.sha256(STATEMENT.encode()).hexdigest(),
        },
        "scopes": ["publish_environment", "publish_trace", "evaluate", "train"],
        "repository": REPOSITORY,
        "sessions": ["1700000000000"],
        "granted_at": "2026-05-12T09:30:00Z",
        "expires_at": None,
        "revoked_at": None,
    }
    return record | changes


def write_export(
    folder: Path,
    rows: list[Row],
    *,
    ui: list[Row] | None = None,
    record: Row | None = None,
    task: str = "1700000000000",
) -> Path:
    """A contribution folder; without `record` the usual consent."""
    place = folder / "tasks" / task
    place.mkdir(parents=True)
    (place / "api_conversation_history.json").write_text(json.dumps(rows), encoding="utf-8")
    if ui is not None:
        (place / "ui_messages.json").write_text(json.dumps(ui), encoding="utf-8")
    (folder / "consent.json").write_text(json.dumps(record or consent()), encoding="utf-8")
    return folder
