"""The sample contribution is what its README says: a real repository, a session that fits it, secrets to be found.

Needs only the standard library and git.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "data" / "sample"
BUNDLE = SAMPLE / "repositories" / "gatehours.bundle"
CONTRIBUTION = SAMPLE / "inbox" / "gatehours-after-midnight"
GENERATOR = Path(__file__).with_name("generate_session.py")

START = "0f69fb803c44dbf63ada0105ef71d79d55cb0009"
FIX = "75a58c78bb7b8ef91be1c4a0933c2e79a9e6d498"
FIX_SOURCES = {f"src/gatehours/{name}.py" for name in ("expansion", "schedule", "search")}
FIX_TESTS = {"tests/test_overnight.py", "tests/test_schedule.py"}
EDITED = {"src/gatehours/expansion.py", "src/gatehours/schedule.py", "tests/test_schedule.py"}
ROW_OF_TOOL = {"read_file": "readFile", "replace_in_file": "editedExistingFile", "write_to_file": "editedExistingFile"}

Json = dict[str, Any]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "gatehours"
    subprocess.run(["git", "clone", "--quiet", str(BUNDLE), str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def task_folder() -> Path:
    (folder,) = (CONTRIBUTION / "tasks").iterdir()
    return folder


@pytest.fixture(scope="module")
def api(task_folder: Path) -> list[Json]:
    return rows(task_folder / "api_conversation_history.json")


@pytest.fixture(scope="module")
def ui(task_folder: Path) -> list[Json]:
    return rows(task_folder / "ui_messages.json")


@pytest.fixture(scope="module")
def planted() -> list[str]:
    return [entry["value"] for entry in json.loads((SAMPLE / "planted.json").read_text(encoding="utf-8"))]


def rows(path: Path) -> list[Json]:
    value: list[Json] = json.loads(path.read_text(encoding="utf-8"))
    return value


def git(repository: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True, text=True).stdout


def strings(value: object) -> Iterator[str]:
    """Every string in a JSON value, also those in JSON texts inside strings."""
    if isinstance(value, str):
        yield value
        if value.startswith(("{", "[")):
            try:
                yield from strings(json.loads(value))
            except ValueError:
                return
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def tool_uses(message: Json) -> list[Json]:
    return [block for block in message["content"] if block["type"] == "tool_use"]


def calls(api: list[Json]) -> Iterator[tuple[Json, str]]:
    """Each call that was carried out, with the text of its result."""
    for message, answer in pairwise(api):
        if message["role"] == "assistant" and tool_uses(message):
            yield tool_uses(message)[0], answer["content"][0]["text"]


def relative(path: str) -> str:
    return path.removeprefix("/home/marisolquint/work/gatehours/")


def apply_blocks(content: str, diff: str) -> str:
    """SEARCH/REPLACE blocks, each of which must be found exactly once."""
    for block in diff.split("------- SEARCH\n")[1:]:
        search, rest = block.split("=======\n", 1)
        replacement, after = rest.split("+++++++ REPLACE\n", 1)
        assert not after
        assert content.count(search) == 1
        content = content.replace(search, replacement)
    return content


def replay(api: list[Json], tree: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Carry the calls out on `tree`, checking what the session saw. Gives the path of each edit and what it left."""
    for call, result in calls(api):
        given = call["input"]
        if call["name"] == "read_file":
            assert result == f"[read_file for '{given['path']}'] Result:\n{tree[given['path']]}"
        elif call["name"] in ("replace_in_file", "write_to_file"):
            path = relative(given["absolutePath"])
            tree[path] = apply_blocks(tree[path], given["diff"]) if "diff" in given else given["content"]
            shown = f'<final_file_content path="{given["absolutePath"]}">\n{tree[path]}\n</final_file_content>'
            assert shown in result
            yield path, tree[path]


def test_the_bundle_is_a_real_small_project(repository: Path) -> None:
    subprocess.run(["git", "bundle", "verify", str(BUNDLE)], cwd=repository, check=True, capture_output=True)
    commits = git(repository, "log", "--format=%ae %as %cs").splitlines()
    assert len(commits) >= 20
    assert len({line.split()[0] for line in commits}) == 2
    assert all("2026-02-01" <= day <= "2026-05-31" for line in commits for day in line.split()[1:])
    git(repository, "checkout", "--quiet", START)
    sources = [path.read_text(encoding="utf-8") for path in (repository / "src").rglob("*.py")]
    assert sum(len(source.splitlines()) for source in sources) >= 800
    assert (repository / "LICENSE").read_text(encoding="utf-8").startswith("MIT License\n")


def test_the_fix_comes_after_three_unrelated_commits(repository: Path) -> None:
    git(repository, "merge-base", "--is-ancestor", START, FIX)
    between = git(repository, "rev-list", f"{START}..{FIX}~1").split()
    assert len(between) == 3
    for commit in between:
        touched = set(git(repository, "diff", "--name-only", f"{commit}~1", commit).splitlines())
        assert not touched & (FIX_SOURCES | FIX_TESTS)
    assert len(git(repository, "rev-list", f"{FIX}..origin/main").split()) in (1, 2)
    changed = set(git(repository, "diff", "--name-only", f"{FIX}~1", FIX).splitlines())
    assert changed == FIX_SOURCES | FIX_TESTS | {"CHANGELOG.md"}
    hunks = git(repository, "diff", "-U0", f"{FIX}~1", FIX, "--", "src")
    assert hunks.count("\n@@ ") >= len(FIX_SOURCES)


def test_the_edits_replay_exactly_onto_the_start_commit(repository: Path, api: list[Json]) -> None:
    git(repository, "checkout", "--quiet", "--force", START)
    tree = {path: (repository / path).read_text(encoding="utf-8") for path in git(repository, "ls-files").splitlines()}
    before = dict(tree)
    edits = list(replay(api, tree))
    assert {path for path, _ in edits} == EDITED == {path for path in tree if tree[path] != before[path]}
    for path in EDITED:
        compile(tree[path], path, "exec")
    assert tree["src/gatehours/search.py"] == git(repository, "show", f"{FIX}~1:src/gatehours/search.py")


def test_both_histories_tell_the_same_story(api: list[Json], ui: list[Json]) -> None:
    assert 20 <= len(api) <= 40
    assert [message["role"] for message in api] == ["user", "assistant"] * (len(api) // 2)
    assert all(block["type"] != "tool_result" for message in api for block in message["content"])
    assert [row["ts"] for row in ui] == sorted({row["ts"] for row in ui})

    requests = [json.loads(row["text"]) for row in ui if row.get("say") == "api_req_started"]
    users = [message for message in api if message["role"] == "user"]
    assert [request["request"] for request in requests] == [
        "\n\n".join(block["text"] for block in message["content"]) for message in users
    ]
    assistants = [message for message in api if message["role"] == "assistant"]
    for request, message in zip(requests, assistants, strict=True):
        tokens = message["metrics"]["tokens"]
        assert request["tokensOut"] == tokens["completion"]
        assert request["cacheWrites"] + request["cacheReads"] == tokens["cached"]

    shown = {row["conversationHistoryIndex"]: row for row in ui if row.get("say") in ("tool", "command")}
    shown |= {row["conversationHistoryIndex"]: row for row in ui if row.get("ask") == "command"}
    for index, message in enumerate(api):
        for call in tool_uses(message)[:1]:
            if call["name"] in ROW_OF_TOOL:
                payload = json.loads(shown[index - 1]["text"])
                assert payload["tool"] == ROW_OF_TOOL[call["name"]]
                assert payload["path"] == relative(call["input"].get("absolutePath", call["input"].get("path")))
            elif call["name"] == "execute_command":
                assert shown[index - 1]["text"] == call["input"]["command"]


def test_the_user_objects_twice(api: list[Json], ui: list[Json]) -> None:
    objections = [index for index, row in enumerate(ui) if row.get("say") == "user_feedback"]
    assert len(objections) == 2
    for index in objections:
        assert ui[index - 1]["ask"] == "completion_result"
        assert any(f"<feedback>\n{ui[index]['text']}\n</feedback>" in text for text in strings(api))
    assert ui[0]["text"] in api[0]["content"][0]["text"]
    assert f'"latestGitCommitHash": "{START}"' in api[0]["content"][2]["text"]
    assert "@github.com/lanternquay/gatehours.git" in api[0]["content"][2]["text"]
    assert ui[-1]["ask"] == "resume_task"


def test_planted_values_are_in_the_session_and_nowhere_else(
    repository: Path, api: list[Json], ui: list[Json], planted: list[str]
) -> None:
    assert len(planted) == len(set(planted)) >= 16
    in_api, in_ui = "\n".join(strings(api)), "\n".join(strings(ui))
    for value in planted:
        assert value in in_api
        assert value in in_ui
    history = git(repository, "log", "--all", "-p", "--format=fuller")
    others = [path for path in SAMPLE.rglob("*") if path.suffix in (".md", ".json") and "tasks" not in path.parts]
    texts = [history, *(path.read_text(encoding="utf-8") for path in others if path.name != "planted.json")]
    for value in planted:
        assert not any(value in text for text in texts)


def test_consent_names_this_session(task_folder: Path) -> None:
    record = json.loads((CONTRIBUTION / "consent.json").read_text(encoding="utf-8"))
    assert record["sessions"] == [task_folder.name]
    assert record["statement"]["sha256"] == hashlib.sha256(record["statement"]["text"].encode()).hexdigest()
    assert set(record["scopes"]) == {"publish_environment", "publish_trace", "evaluate", "train"}
    assert record["repository"] == "https://github.com/lanternquay/gatehours"
    assert record["revoked_at"] is None


def test_the_session_is_what_the_generator_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(GENERATOR), "--out", str(tmp_path)], check=True, capture_output=True)
    written = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(written) == 6
    for path, content in written.items():
        assert (SAMPLE / path).read_bytes() == content, path


def test_the_sample_is_small_and_holds_no_python() -> None:
    files = [path for path in SAMPLE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_000_000
    assert not [path for path in files if path.suffix == ".py"]
