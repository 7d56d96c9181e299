"""Writes the sample contribution under data/sample/ from the repository bundle that lies there.

    python tests/data_sample/generate_session.py [--out data/sample]

The session is invented and deterministic: the same bundle gives the same files, byte by byte. What the session reads is
the real content of the start commit, its edits apply to it, and the planted secrets come from a seeded generator.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from datetime import UTC, datetime
from pathlib import Path

from cline_task import MODE, MODEL_ID, PROVIDER_ID, ClineTask, Json, compact
from conversation import ALL_STEPS, EXPANSION, RULES, SCHEDULE, TEST_SCHEDULE, progress, run
from planted_values import Planted
from workspace import Workspace, read_tree

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
BUNDLE = SAMPLE / "repositories" / "gatehours.bundle"
CONTRIBUTION = "gatehours-after-midnight"

REPOSITORY = "https://github.com/lanternquay/gatehours"
START_COMMIT = "0f69fb803c44dbf63ada0105ef71d79d55cb0009"
STARTED_AT = datetime(2026, 4, 16, 15, 2, 11, 418000, tzinfo=UTC)
SEED = 20260416

STATEMENT = (
    "I contribute this agent session and the tasks made from it. It is about a public repository under an open source "
    "licence. I have looked through it, I may share it, and I agree that it is redacted and then used within the "
    "scopes named here. I can withdraw this consent; copies that others already took cannot be recalled."
)


def consent(task_id: str) -> Json:
    """The contributor's statement, and what it allows."""
    contributor = hashlib.sha256(b"envmill-sample-contributor-0001").hexdigest()
    return {
        "schema_version": 1,
        "contributor": f"sha256:{contributor}",
        "statement": {
            "version": "1",
            "text": STATEMENT,
            "sha256": hashlib.sha256(STATEMENT.encode()).hexdigest(),
        },
        "scopes": ["publish_environment", "publish_trace", "evaluate", "train"],
        "repository": REPOSITORY,
        "sessions": [task_id],
        "granted_at": "2026-05-12T09:30:00Z",
        "expires_at": None,
        "revoked_at": None,
    }


def first_details(work: Workspace, planted: Planted) -> str:
    """The sections of the environment that only the first message has."""
    remote = REPOSITORY.replace("https://", f"https://{planted.user}:{planted.remote_token}@")
    configuration = {
        "workspaces": {
            work.root: {
                "hint": "gatehours",
                "associatedRemoteUrls": [f"origin: {remote}.git"],
                "latestGitCommitHash": START_COMMIT,
            }
        }
    }
    return (
        f"# Current Working Directory ({work.root}) Files\n{work.listing()}\n\n"
        f"# Workspace Configuration\n{json.dumps(configuration, indent=2)}\n\n"
        "# Detected CLI Tools\nThese are some of the tools on the user's machine, and may be useful if needed to "
        "accomplish the task: gh, git, docker, pip, curl, jq, make, python3, psql, code, grep, sed, awk, wget. This "
        "list is not exhaustive, and other tools may be available.\n\n"
    )


def metadata(task: ClineTask, root: str) -> Json:
    """task_metadata.json: what the model read and edited, on which machine."""
    entries: list[Json] = []
    for message, row in _tool_rows(task):
        path = row["path"]
        edited = row["tool"] in ("editedExistingFile", "newFileCreated")
        ts = message["ts"]
        recorded = f"{root}/{path}" if edited else path
        for earlier in entries:
            if earlier["path"] == recorded:
                earlier["record_state"] = "stale"
        entries.append(
            {
                "path": recorded,
                "record_state": "active",
                "record_source": "cline_edited" if edited else "read_tool",
                "cline_read_date": ts,
                "cline_edit_date": ts if edited else None,
                "user_edit_date": None,
            }
        )
    first = task.ui[0]["ts"]
    machine = {"os_name": "linux", "os_version": "6.8.0-58-generic", "os_arch": "x64"}
    host = {"host_name": "Visual Studio Code", "host_version": "1.108.1", "cline_version": "3.51.0"}
    return {
        "files_in_context": entries,
        "model_usage": [
            {"ts": first + 36, "model_id": MODEL_ID, "model_provider_id": PROVIDER_ID, "mode": MODE},
        ],
        "environment_history": [{"ts": first + 34, **machine, **host}],
    }


def _tool_rows(task: ClineTask) -> list[tuple[Json, Json]]:
    return [(message, json.loads(message["text"])) for message in task.ui if message.get("say") == "tool"]


def focus_chain(task_id: str) -> str:
    return (
        f"# Focus Chain List for Task {task_id}\n\n"
        "<!-- Edit this markdown file to update your focus chain list -->\n"
        "<!-- Use the format: - [ ] for incomplete items and - [x] for completed items -->\n\n"
        f"{progress(ALL_STEPS, len(ALL_STEPS))}\n\n"
        "<!-- Save this file and the focus chain list will be updated in the task -->"
    )


def generate(bundle: Path, out: Path) -> None:
    """Write the contribution and planted.json below `out`."""
    planted = Planted.from_seed(SEED)
    root = f"{planted.home}/work/gatehours"
    work = Workspace(root, read_tree(bundle, START_COMMIT))
    started = round(STARTED_AT.timestamp() * 1000)
    task_id = str(started)
    tabs = [SCHEDULE, TEST_SCHEDULE, RULES, EXPANSION, "../rotaboard/rotaboard/doors.py", "../rotaboard/.env"]
    task = ClineTask(random.Random(SEED + 1), started + 33, open_tabs=tabs, visible=TEST_SCHEDULE)
    run(task, work, planted, first_details(work, planted))

    contribution = out / "inbox" / CONTRIBUTION
    folder = contribution / "tasks" / task_id
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "api_conversation_history.json", compact(task.api))
    _write(folder / "ui_messages.json", compact(task.ui))
    _write(folder / "task_metadata.json", compact(metadata(task, root)))
    _write(folder / f"focus_chain_taskid_{task_id}.md", focus_chain(task_id))
    _write(contribution / "consent.json", json.dumps(consent(task_id), indent=2) + "\n")
    _write(out / "planted.json", json.dumps(planted.entries(), indent=2, ensure_ascii=False) + "\n")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the sample contribution from its repository bundle.")
    parser.add_argument("--bundle", type=Path, default=BUNDLE)
    parser.add_argument("--out", type=Path, default=SAMPLE)
    options = parser.parse_args()
    generate(options.bundle, options.out)


if __name__ == "__main__":
    main()
