"""Whole sessions, with values read from the files by hand."""

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from blocks.session import Edit, EditKind, Intervention, Session, Speaker
from tasks.ingest.cline import find_task_folders, identify, read_session

CHECKOUT = Path(__file__).resolve().parents[3]
SAMPLE = CHECKOUT / "data" / "sample"
SHARED = Path(os.environ.get("ENVMILL_SHARED_SAMPLES", CHECKOUT.parent / "shared" / "samples")) / "cline-classic"


@pytest.fixture(scope="module")
def sample() -> Session:
    (task,) = find_task_folders(SAMPLE / "inbox" / "gatehours-after-midnight")
    return read_session(task)


def test_sample_steps(sample: Session) -> None:
    assert (sample.source, sample.session_id) == ("cline", "1776351731418")
    assert sample.repository == "https://github.com/lanternquay/gatehours"
    assert sample.start_commit == "0f69fb803c44dbf63ada0105ef71d79d55cb0009"
    assert [step.index for step in sample.steps] == list(range(24))
    assert Counter(step.speaker for step in sample.steps) == {Speaker.AGENT: 20, Speaker.USER: 4}
    assert [(step.index, step.intervention) for step in sample.steps if step.intervention] == [
        (0, Intervention.PROMPT),
        (12, Intervention.REJECTION),
        (14, Intervention.FEEDBACK),
        (22, Intervention.FEEDBACK),
    ]
    assert sample.prompt.startswith("A schedule whose hours go on after midnight")
    assert sample.prompt.endswith("The existing tests have to keep passing.")
    assert sample.steps[22].text.startswith("No. next_closing on Friday at 23:00 still says Saturday 00:00.")
    assert sum(len(step.tool_calls) for step in sample.steps) == 20
    refused = sample.steps[2]
    assert [call.name for call in refused.tool_calls] == ["read_file", "read_file"]
    assert refused.observations[1].call_id == refused.tool_calls[1].call_id
    assert refused.observations[1].content.startswith("Tool [read_file] was not executed")
    assert sample.steps[1].completion_tokens == 118
    assert sample.steps[1].prompt_tokens == 9455
    assert str(sample.steps[0].timestamp) == "2026-04-16 15:02:11.451000+00:00"
    times = [step.timestamp for step in sample.steps if step.timestamp]
    assert len(times) == 24
    assert times == sorted(times)


def test_sample_effects(sample: Session) -> None:
    assert [(edit.step, edit.kind, edit.path, edit.accepted) for edit in sample.edits] == [
        (8, EditKind.REPLACE, "src/gatehours/schedule.py", True),
        (9, EditKind.REPLACE, "tests/test_schedule.py", True),
        (16, EditKind.WRITE, "src/gatehours/expansion.py", True),
        (17, EditKind.REPLACE, "src/gatehours/schedule.py", True),
    ]
    assert [(seen.step, seen.path, seen.after_edit) for seen in sample.seen_files] == [
        (1, "src/gatehours/schedule.py", False),
        (2, "src/gatehours/rules.py", False),
        (3, "src/gatehours/expansion.py", False),
        (8, "src/gatehours/schedule.py", True),
        (9, "tests/test_schedule.py", True),
        (16, "src/gatehours/expansion.py", True),
        (17, "src/gatehours/schedule.py", True),
    ]
    assert [command.step for command in sample.commands] == [4, 5, 6, 7, 10, 15, 18, 19, 20]
    assert sample.commands[0].output == "/usr/bin/python3: No module named pytest"
    assert sample.commands[-1].output == "SpanSet([2026-03-06 22:00-2026-03-07 02:00]) True False 2026-03-07 02:00:00"


def test_sample_replays_exactly_on_its_start_commit(sample: Session, tmp_path: Path) -> None:
    """What the session saw is in the repository byte by byte, and replaying its edits gives what it saw afterwards."""
    bundle = SAMPLE / "repositories" / "gatehours.bundle"
    subprocess.run(["git", "clone", "-q", str(bundle), str(tmp_path / "r")], check=True, capture_output=True)

    def at_start(path: str) -> str:
        spec = f"{sample.start_commit}:{path}"
        done = subprocess.run(["git", "-C", str(tmp_path / "r"), "show", spec], check=True, capture_output=True)
        return done.stdout.decode()

    tree: dict[str, str] = {}
    for edit in sample.edits:
        tree[edit.path] = applied(edit, tree.get(edit.path) or at_start(edit.path))
        shown = next(seen for seen in sample.seen_files if seen.step == edit.step)
        assert tree[edit.path] == shown.content
    before = [seen for seen in sample.seen_files if not seen.after_edit]
    assert len(before) == 3
    for seen in before:
        assert seen.content == at_start(seen.path)


def applied(edit: Edit, text: str) -> str:
    if edit.kind is EditKind.WRITE:
        return edit.content or ""
    for block in edit.replacements:
        assert text.count(block.search) == 1
        text = text.replace(block.search, block.replace, 1)
    return text


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared sample sessions are not here (ENVMILL_SHARED_SAMPLES)")
def test_a_real_export() -> None:
    """Cline 3.51: 72 rows, interrupted once and resumed; every free word replaced. Counts from the file."""
    (task,) = find_task_folders(SHARED)
    session = read_session(task)
    assert identify(task).roots == ("/workspaces/Wwwwww-Wwww-Wwwwwwwwwwww",)
    assert session.repository == "https://github.com/example/example"
    assert session.start_commit == "071ca4d6a806adafa1322bc05c4b149944a75c72"
    assert Counter(step.speaker for step in session.steps) == {Speaker.AGENT: 36, Speaker.USER: 1, Speaker.SYSTEM: 1}
    calls = Counter(call.name for step in session.steps for call in step.tool_calls)
    assert calls == {
        "read_file": 20,
        "write_to_file": 14,
        "replace_in_file": 2,
        "list_files": 1,
        "attempt_completion": 1,
    }
    assert Counter(edit.kind for edit in session.edits) == {EditKind.WRITE: 14, EditKind.REPLACE: 2}
    assert all("/" not in edit.path for edit in session.edits)
    assert len(session.seen_files) == 17
    assert [sighting.step for sighting in session.sightings] == [0, 25]
    assert round(sum(step.cost_usd or 0 for step in session.steps), 6) == 2.200621
    assert session.steps[1].model == session.model == "claude-opus-4-5-20251101"
    assert "signature" not in session.model_dump_json()
