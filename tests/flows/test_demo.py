"""The whole pipeline on the sample contribution, through the real command. One home for all of it."""

import json
import shutil
from pathlib import Path

import pytest

from blocks.catalog import compare
from blocks.engine import Engine
from tests.flows.command import ROOT, containers_of, servers_of, watched_starts
from tests.flows.conftest import Demo
from tests.flows.needles import find_needles

pytestmark = [pytest.mark.engine, pytest.mark.prefect, pytest.mark.slow]

PHASES = ["ingest", "qualify", "archaeology", "containerize", "synthesis", "capture", "publish"]


def test_the_demo_ends_with_funnel_task_and_rewards(demo: Demo, engine: Engine) -> None:
    command, done = demo.command, demo.done
    assert all(f"{phase} " in done.out for phase in ["funnel", *PHASES])
    assert "rewards: nop 0, oracle 1, replay 0" in done.out
    assert " 0 not recorded" in done.out
    assert demo.starts == int(_before(done.out, " containers started")) > 0
    [told] = [line for line in done.out.splitlines() if line.startswith("Harbor task: ")]
    task = Path(told.removeprefix("Harbor task: "))
    assert task.parent == command.home / "releases" / "latest" / "harbor" / "tasks"
    assert {"task.toml", "instruction.md", "environment", "tests", "solution"} <= {path.name for path in task.iterdir()}
    assert containers_of(engine, done.pid) == []
    assert servers_of(command.home) == []


def test_the_catalog_says_what_was_worked_out_by_hand(demo: Demo) -> None:
    """Values of data/sample/README.md: each of the three hunks of the fix is needed, 17 tests prove it."""
    command = demo.command
    [candidate] = command.rows("SELECT source, repository, start_commit, status, reason_code FROM candidates")
    assert candidate == {
        "source": "cline",
        "repository": "https://github.com/lanternquay/gatehours",
        "start_commit": "0f69fb803c44dbf63ada0105ef71d79d55cb0009",
        "status": "published",
        "reason_code": "ok",
    }
    [found] = command.rows(
        "SELECT end_commit, runtime, fail_to_pass, pass_to_pass, pass_to_fail, status FROM reconstructions"
    )
    assert found["end_commit"].startswith("75a58c78")
    assert list(found.values())[1:] == ["3.11", 17, 145, 0, "passed"]
    [verifier] = command.rows(
        "SELECT grade, tier, fail_to_pass, pass_to_pass, nop_reward, oracle_reward, repeats, flips, hunks_required,"
        " hunks_detected, status FROM verifiers"
    )
    assert list(verifier.values()) == ["B", "train", 17, 145, 0, 1, 3, 0, 3, 3, "admitted"]
    assert command.rows("SELECT decision FROM verdicts") == [{"decision": "pass"}] * 4
    assert command.rows("SELECT leak_hits, status FROM environments") == [{"leak_hits": 0, "status": "passed"}]
    rollouts = command.rows("SELECT agent, reward, exit_reason FROM rollouts ORDER BY agent")
    assert [tuple(row.values()) for row in rollouts] == [
        ("nop", 0, "completed"),
        ("oracle", 1, "completed"),
        ("replay", 0, "replayed"),
    ]


def test_the_catalog_answers(demo: Demo) -> None:
    command = demo.command
    funnel = command.rows("SELECT * FROM funnel")
    assert [(row["phase"], row["entered"], row["passed"]) for row in funnel] == [(phase, 1, 1) for phase in PHASES]
    joined = command.rows(
        "SELECT r.phase, r.state, count(o.symptom) AS obstacles FROM phase_runs r LEFT JOIN obstacles o"
        " ON o.candidate_id = r.candidate_id AND o.phase = r.phase WHERE r.candidate_id LIKE 'c-%' GROUP BY ALL"
    )
    assert sorted(row["phase"] for row in joined) == sorted(PHASES)
    assert {row["state"] for row in joined} == {"passed"}

    [row] = command.rows("SELECT candidate_id FROM candidates")
    shown = command("show", row["candidate_id"][:5], "--json").json()
    assert shown["candidate"]["candidate_id"] == row["candidate_id"]
    assert shown["verifier"][0]["oracle_reward"] == 1
    assert [entry["status"] for entry in command("status", "--json").json()] == ["published"]


def test_the_second_run_reuses_everything(demo: Demo, engine: Engine) -> None:
    command = demo.command
    before = _manifests(command.home)

    with watched_starts(engine) as starts:
        again = command("demo")
        started = starts(again)

    assert again.code == 0, again.said
    assert [line.split("  ")[1:] for line in again.out.splitlines() if "(reused)" in line] == [
        [phase, "passed (reused)"] for phase in PHASES[:-1]
    ]
    assert "running" not in again.out
    assert "0 containers started" in again.out and " 0 not recorded" in again.out
    assert started == 0
    assert _manifests(command.home) == before
    assert "rewards: nop 0, oracle 1, replay 0" in again.out


def test_a_catalog_from_the_objects_alone_is_equal(demo: Demo, tmp_path: Path) -> None:
    command = demo.command
    kept = tmp_path / "kept.duckdb"
    shutil.copy(command.home / "catalog.duckdb", kept)
    (command.home / "catalog.duckdb").unlink()

    assert command("catalog", "rebuild").code == 0

    assert compare(kept, command.home / "catalog.duckdb") == []
    assert compare(kept, command.home / "catalog.duckdb", "history") == []
    assert command("catalog", "compare", str(kept), str(command.home / "catalog.duckdb")).out == "equal\n"


def test_nothing_that_was_planted_is_kept(demo: Demo) -> None:
    command, done = demo.command, demo.done
    planted = [entry["value"] for entry in json.loads((ROOT / "data" / "sample" / "planted.json").read_text())]
    assert len(planted) == 22
    assert find_needles(command.home, planted) == []
    assert not [value for value in planted if value in done.said]
    kept = " ".join(find_needles(command.home, ["Fr,Sa 22:00-02:00", "75a58c78bb7b8ef91be1c4a0933c2e79a9e6d498"]))
    assert all(name in kept for name in ("session.json", "candidates.parquet", "catalog.duckdb", "release.tar"))


def _manifests(home: Path) -> dict[str, float]:
    return {str(path): path.stat().st_mtime for path in (home / "lake").rglob("manifest.json")}


def _before(text: str, words: str) -> str:
    return text.partition(words)[0].splitlines()[-1].split()[-1]
