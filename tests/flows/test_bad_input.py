"""What is wrong is named, with what to do about it; the rest of the batch goes on; nobody sees a traceback."""

import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks.ingest.consent import Scope
from tasks.ingest.prompt import write_prompt_contribution
from tests.flows.api import Api
from tests.flows.command import ROOT, Command
from tests.history import MIT, History

SAMPLE = ROOT / "data" / "sample" / "inbox" / "gatehours-after-midnight"
PROMPT = "`whistle` stays silent when the pressure is exactly 1 bar. It should sound there, and None must not crash it."
NO_ENGINE = {"ENVMILL_ENGINE__HOST": "unix:///nonexistent/engine.sock"}


def hand_in(inbox: Path, repository: str, commit: str, prompt: str = PROMPT) -> Path:
    return write_prompt_contribution(
        inbox,
        repository=repository,
        commit=commit,
        prompt=prompt,
        contributor="mo",
        scopes=tuple(Scope),
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )


def write_config(path: Path, inbox: Path, mirrors: Mapping[str, Path]) -> Path:
    lines = [f"inbox = [{json.dumps(str(inbox))}]", "[mirrors]"]
    path.write_text("\n".join([*lines, *(f'"{name}" = "{place}"' for name, place in mirrors.items()), ""]))
    return path


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """Settings of an inbox in which two of eight items are good enough to become candidates, and one is all right."""
    inbox = tmp_path / "inbox"
    shutil.copytree(SAMPLE, inbox / "good")
    truncated = inbox / "truncated"
    shutil.copytree(SAMPLE, truncated)
    [history] = truncated.glob("tasks/*/api_conversation_history.json")
    history.write_bytes(history.read_bytes()[: history.stat().st_size // 2])
    shutil.copytree(SAMPLE, inbox / "no-consent")
    (inbox / "no-consent" / "consent.json").unlink()
    shutil.copytree(SAMPLE, inbox / "other-consent")
    consent = json.loads((SAMPLE / "consent.json").read_text())
    consent["repository"] = "https://github.com/lanternquay/another"
    (inbox / "other-consent" / "consent.json").write_text(json.dumps(consent))
    (inbox / "empty").mkdir()
    blank = hand_in(inbox, "https://example.org/tea/kettle", "1" * 40, prompt="soon gone")
    (blank / "prompt.md").write_text(" \n")
    blank.rename(inbox / "blank-prompt")

    licensed, unlicensed = History(tmp_path / "licensed"), History(tmp_path / "unlicensed")
    licensed.commit({"LICENSE": MIT, "kettle.py": "x = 1\n"}, "Begin", day=0)
    commit = unlicensed.commit({"kettle.py": "x = 1\n"}, "Begin", day=0)
    hand_in(inbox, "https://example.org/tea/licensed", "2" * 40)
    hand_in(inbox, "https://example.org/tea/unlicensed", commit)
    mirrors = {f"https://example.org/tea/{name}": tmp_path / name for name in ("licensed", "unlicensed")}
    mirrors["https://github.com/lanternquay/gatehours"] = ROOT / "data" / "sample" / "repositories" / "gatehours.bundle"
    return write_config(tmp_path / "envmill.toml", inbox, mirrors)


@pytest.mark.prefect
@pytest.mark.engine
@pytest.mark.slow
def test_bad_items_are_named_and_the_others_go_on(envmill: Command, batch: Path, python_image: str) -> None:
    here = Command(envmill.home, {**envmill.environment, "ENVMILL_CONFIG": str(batch)})

    taken = Command(here.home, {**here.environment, **NO_ENGINE})("ingest")

    assert taken.code == 1
    lines = {line.split("  ")[0]: line for line in taken.out.splitlines() if "  " in line}
    for name, parts in {
        "truncated": ("refused file_unreadable", "api_conversation_history.json", "is not complete JSON"),
        "no-consent": ("refused consent_missing", "consent.json is missing; add a consent record"),
        "other-consent": ("refused consent_mismatch", "lanternquay/another", "ask for consent for that repository"),
        "empty": ("refused folder_empty", "the folder is empty; put a contribution in it"),
        "blank-prompt": ("refused prompt_empty", "prompt.md is empty; write what the agent is asked to do"),
        "good": ("accepted",),
    }.items():
        assert all(part in lines[name] for part in parts), lines[name]
    assert sum("accepted" in line for line in lines.values()) == 3
    refused = here.rows("SELECT reason_code FROM contributions WHERE NOT accepted ORDER BY ALL")
    assert [row["reason_code"] for row in refused] == [
        "consent_mismatch", "consent_missing", "file_unreadable", "folder_empty", "prompt_empty",
    ]  # fmt: skip

    prompts = [row["candidate_id"] for row in here.rows("SELECT candidate_id FROM candidates WHERE source = 'prompt'")]
    done = here("run", "--no-publish", *prompts)

    assert done.code == 0, done.said
    assert "0 containers started" in done.out
    fell = {row["repository"][-9:]: row for row in here.rows("SELECT repository, status, reason_code FROM candidates")}
    assert fell["/licensed"]["reason_code"] == "commit_not_found"
    assert fell["nlicensed"]["reason_code"] == "licence_missing"
    assert {row["status"] for row in fell.values()} == {"disqualified", "ingested"}
    assert (
        "licensed-" in done.out
        and "commit_not_found" in done.out
        and "hand in one that the repository gives" in done.out
    )
    assert "licence_missing: " in done.out and "has no licence file in its root" in done.out
    again = here("ingest", "--json").json()
    assert all(item["reused"] for item in again["taken"]) and len(again["taken"]) == 8 and not again["crashed"]


@pytest.mark.slow
def test_without_an_engine_nothing_begins(tmp_path: Path) -> None:
    command = Command(tmp_path / "home", NO_ENGINE)
    done = command("run")
    assert done.code == 3
    assert "no container engine answers at unix:///nonexistent/engine.sock" in done.err
    assert "make setup" in done.err
    assert not (command.home / "prefect").exists() and not (command.home / "lake" / "candidates").exists()
    doctor = command("doctor", "--json")
    assert doctor.code == 3
    assert [name for name, found in doctor.json().items() if not found["ok"]] == ["engine"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "environment", "code", "parts"),
    [
        (["status"], {}, 2, ["there is no catalog yet", "envmill run"]),
        (["status"], {"ENVMILL_CONCURRENCY": "many"}, 2, ["concurrency", "ENVMILL_*"]),
        (["status"], {"ENVMILL_GATES__REPEETS": "3"}, 2, ["gates.repeets", "Extra inputs are not permitted"]),
        (["status"], {"ENVMILL_CONFIG": "/nonexistent/envmill.toml"}, 2, ["/nonexistent/envmill.toml", "correct the path"]),
        (["ingest"], {"PREFECT_API_URL": "http://127.0.0.1:9/api"}, 3, ["http://127.0.0.1:9/api does not answer"]),
        (["ingest"], {"ENVMILL_LAKE": "ftp://example.org"}, 2, ["ftp://example.org"]),
        (["contribute", "--repo", "https://example.org/a/b", "--commit", "1" * 40, "--prompt-file", "/dev/null"], {}, 2,
         ["--contributor"]),
        (["run", "--retry", "archaeology"], {"DOCKER_HOST": ""}, 2, ["--retry needs the candidates it is for"]),
    ],
)  # fmt: skip
def test_wrong_use_is_told_in_a_line(
    arguments: list[str], environment: dict[str, str], code: int, parts: list[str], tmp_path: Path
) -> None:
    done = Command(tmp_path / "home", environment)(*arguments)
    assert done.code == code, done.said
    assert all(part in done.err for part in parts), done.err


@pytest.mark.slow
def test_contribute_says_what_it_needs(tmp_path: Path) -> None:
    command = Command(tmp_path / "home")
    prompt = tmp_path / "prompt.txt"
    options = ["contribute", "--repo", "https://example.org/tea/kettle", "--contributor", "mo"]
    options += ["--prompt-file", str(prompt)]
    cases = [
        (None, ["--commit", "1" * 40, "--consent"], "no such file"),
        (" \n", ["--commit", "1" * 40, "--consent"], "the prompt is empty; write what the agent is asked to do"),
        (PROMPT, ["--commit", "main", "--consent"], "`git rev-parse <ref>` prints it"),
        (PROMPT, ["--commit", "1" * 40], "without consent there is no contribution"),
    ]
    for text, more, said in cases:
        if text is not None:
            prompt.write_text(text)
        done = command(*options, *more)
        assert done.code == 2
        assert said in done.err
        assert not (command.home / "inbox").exists()
    done = command(*options, "--commit", "1" * 40, "--consent")
    assert done.code == 0, done.said
    [folder] = (command.home / "inbox").iterdir()
    assert (folder / "prompt.md").read_text() == PROMPT + "\n"


@pytest.mark.prefect
@pytest.mark.slow
def test_questions_that_cannot_be_answered(envmill: Command, api: Api, tmp_path: Path) -> None:
    """On an empty lake, so that there is a catalog."""
    assert envmill("ingest", "--json").json() == {"taken": [], "crashed": []}
    for query, said in {
        "SELECT * FROM candidats": "candidats",
        "SELECT FROM": "Parser Error",
        "SELECT * FROM read_csv('/etc/passwd')": "disabled by configuration",
        "COPY (SELECT 1) TO '/tmp/envmill-should-not-be-there'": "disabled by configuration",
        "ATTACH '/tmp/other.duckdb'": "disabled by configuration",
        "SET enable_external_access = true": "the configuration has been locked",
        "DROP TABLE candidates": "read-only",
    }.items():
        done = envmill("sql", query, "--json")
        assert (done.code, done.out) == (2, ""), done.said
        assert said in done.err
    for arguments in (["show", "c-none"], ["run", "c-none"], ["run", "--retry", "ingest", "c-none"]):
        done = envmill(*arguments)
        assert done.code == 2, done.said
        assert "c-none" in done.err and "`envmill status` lists all of them" in done.err
    assert envmill("publish").code == 2
