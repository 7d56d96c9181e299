"""What analysts see: current rows, statuses, and the views of data/sql."""

import json

import pytest

from blocks.catalog import index, query
from blocks.catalog.views import sql_files
from blocks.lake import ObjectStore, PhaseKey, PhaseWriter, open_store
from blocks.lake.commit import record_crash
from blocks.records import Outcome, Phase, ReasonCode
from blocks.settings import Settings
from tests.blocks.catalog.hand import contribute, refuse, run, walk

pytestmark = pytest.mark.slow

ENDS = {
    "c-ingested": (Phase.INGEST, Outcome.PASSED, ReasonCode.OK, "ingested"),
    "c-disqualified": (Phase.QUALIFY, Outcome.REJECTED, ReasonCode.OUTCOME_NOT_FOUND, "disqualified"),
    "c-review": (Phase.QUALIFY, Outcome.REVIEW, ReasonCode.INTENT_UNCLEAR, "needs_review"),
    "c-qualified": (Phase.QUALIFY, Outcome.PASSED, ReasonCode.OK, "qualified"),
    "c-lost": (Phase.ARCHAEOLOGY, Outcome.FAILED, ReasonCode.INSTALL_FAILED, "not_reconstructed"),
    "c-stack": (Phase.ARCHAEOLOGY, Outcome.REJECTED, ReasonCode.STACK_NOT_SUPPORTED, "not_reconstructed"),
    "c-model": (Phase.ARCHAEOLOGY, Outcome.NEEDS_MODEL, ReasonCode.OUTCOME_HAS_NO_TESTS, "needs_model"),
    "c-rebuilt": (Phase.ARCHAEOLOGY, Outcome.PASSED, ReasonCode.OK, "reconstructed"),
    "c-unbuilt": (Phase.CONTAINERIZE, Outcome.FAILED, ReasonCode.BUILD_FAILED, "build_failed"),
    "c-leak": (Phase.CONTAINERIZE, Outcome.REJECTED, ReasonCode.LEAK_FOUND, "build_failed"),
    "c-built": (Phase.CONTAINERIZE, Outcome.PASSED, ReasonCode.OK, "built"),
    "c-nop": (Phase.SYNTHESIS, Outcome.REJECTED, ReasonCode.NOP_PASSES, "verifier_rejected"),
    "c-model2": (Phase.SYNTHESIS, Outcome.NEEDS_MODEL, ReasonCode.OUTCOME_HAS_NO_TESTS, "needs_model"),
    "c-verified": (Phase.SYNTHESIS, Outcome.PASSED, ReasonCode.OK, "verified"),
    "c-captured": (Phase.CAPTURE, Outcome.PASSED, ReasonCode.OK, "verified"),
    "c-replay": (Phase.CAPTURE, Outcome.REVIEW, ReasonCode.REPLAY_PASSES, "needs_review"),
    "c-published": (Phase.PUBLISH, Outcome.PASSED, ReasonCode.OK, "published"),
    "c-gone": (Phase.PUBLISH, Outcome.PASSED, ReasonCode.OK, "withdrawn"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = Settings(home=tmp_path_factory.mktemp("world"))
    store = open_store(settings)
    for candidate_id, (phase, outcome, reason, _) in ENDS.items():
        contribute(store, f"of-{candidate_id}")
        walk(store, candidate_id, phase, outcome, reason)
    refuse(store, "refused", ReasonCode.CONSENT_MISSING)
    crash = PhaseKey(candidate_id="c-qualified", phase=Phase.ARCHAEOLOGY, input_key="k", upstream_key="q")
    record_crash(PhaseWriter(store, crash), "engine went away")
    store.put("tombstones/of-c-gone.json", b"{}")
    index(store, settings)
    return settings


def rows(settings: Settings, sql: str) -> list[dict[str, object]]:
    result = query(settings.catalog_path, sql)
    return [dict(zip([column.name for column in result.columns], row, strict=True)) for row in result.rows]


def test_every_status(world: Settings) -> None:
    found = {str(row["candidate_id"]): row for row in rows(world, "FROM candidates")}
    assert {name: row["status"] for name, row in found.items()} == {name: end[3] for name, end in ENDS.items()}
    reasons = {name: end[2].value for name, end in ENDS.items()} | {"c-gone": "withdrawn"}
    assert {name: row["reason_code"] for name, row in found.items()} == reasons
    assert list(found["c-nop"])[-2:] == ["status", "reason_code"] and found["c-nop"]["instruction"] == "mend c-nop"


def test_the_funnel_counts_everything_once(world: Settings) -> None:
    funnel = rows(world, "FROM funnel")
    assert [row["phase"] for row in funnel] == [phase.value for phase in Phase]
    parts = ("passed", "rejected", "failed", "review", "needs_model", "pending")
    assert all(row["entered"] == sum(int(str(row[part])) for part in parts) for row in funnel)
    counts = {row["phase"]: [row["entered"], *(row[part] for part in parts), row["share"]] for row in funnel}
    assert counts == {
        "ingest": [18, 17, 1, 0, 0, 0, 0, 0.9444],
        "qualify": [17, 14, 1, 0, 1, 0, 1, 0.7778],
        "archaeology": [14, 10, 1, 1, 0, 1, 1, 0.5556],
        "containerize": [10, 7, 1, 1, 0, 0, 1, 0.3889],
        "synthesis": [7, 4, 1, 0, 0, 1, 1, 0.2222],
        "capture": [4, 2, 0, 0, 1, 0, 1, 0.1111],
        "publish": [2, 1, 0, 0, 0, 0, 1, 0.0556],
    }


def test_who_dropped_and_why(world: Settings) -> None:
    dropped = {str(row["candidate_id"]): row for row in rows(world, "FROM dropped")}
    expected = {name for name, end in ENDS.items() if end[1] is not Outcome.PASSED} | {"refused"}
    assert set(dropped) == expected
    doubts = json.loads(str(dropped["c-disqualified"]["evidence"]))
    assert [(doubt["qualifier"], doubt["reason_code"]) for doubt in doubts] == [("outcome", "outcome_not_found")]
    assert doubts[0]["evidence"] == {"seen": 1}
    assert [tried["symptom"] for tried in json.loads(str(dropped["c-lost"]["evidence"]))] == ["first", "second"]
    assert (dropped["refused"]["phase"], dropped["refused"]["reason_code"]) == ("ingest", "consent_missing")
    builds = {str(row["candidate_id"]): row for row in rows(world, "FROM failed_builds")}
    assert set(builds) == {"c-lost", "c-unbuilt"}
    assert (builds["c-lost"]["obstacles"], builds["c-lost"]["last_symptom"]) == (2, "second")
    assert str(builds["c-unbuilt"]["log_uri"]).endswith("/log.txt") and builds["c-lost"]["log_uri"] is None


def test_what_is_ready_what_it_took_and_how_hard_it_is(world: Settings) -> None:
    ready = {str(row["candidate_id"]): row for row in rows(world, "FROM environments_ready")}
    assert set(ready) == {"c-verified", "c-captured", "c-published"}
    assert [ready["c-published"]["release"], ready["c-captured"]["release"]] == ["2026.1", None]
    cost = {str(row["candidate_id"]): row for row in rows(world, "FROM cost_per_environment")}
    assert cost["c-published"]["cpu_seconds"] == 14.0 and cost["c-published"]["model_usd"] == 0.5
    assert "c-unbuilt" not in cost and cost["c-built"]["containers"] is None
    hard = {str(row["candidate_id"]): row for row in rows(world, "FROM difficulty")}
    assert (hard["c-published"]["model_runs"], hard["c-published"]["solve_rate"]) == (3, 0.5)
    assert (hard["c-built"]["model_runs"], hard["c-built"]["solve_rate"], hard["c-built"]["lines_changed"]) == (
        0,
        None,
        7,
    )
    gates = {str(row["gate"]): row for row in rows(world, "FROM gate_loss")}
    assert (gates["nop"]["measured"], gates["nop"]["lost"]) == (gates["nop"]["verifiers"], 2)
    assert (gates["mutants"]["measured"], gates["mutants"]["share"]) == (0, None)
    assert (gates["replay"]["measured"], gates["replay"]["lost"]) == (4, 1)
    assert rows(world, "FROM attack_matrix") == []


def test_phase_runs_show_crashes_and_join_with_obstacles(world: Settings) -> None:
    crashed = rows(world, "FROM phase_runs WHERE state = 'crashed'")
    assert [(row["candidate_id"], row["message"]) for row in crashed] == [("c-qualified", "engine went away")]
    joined = rows(
        world,
        "SELECT r.candidate_id, o.symptom FROM phase_runs r JOIN obstacles o USING (candidate_id, phase) WHERE NOT o.resolved",
    )
    assert {row["candidate_id"] for row in joined} == {"c-lost", "c-stack", "c-model"}


def test_only_the_current_chain_is_shown(store: ObjectStore, settings: Settings) -> None:
    old = walk(store, "c", Phase.CAPTURE)
    index(store, settings)
    assert rows(settings, "SELECT status FROM candidates") == [{"status": "verified"}]
    # Archaeology is asked for again and now fails: what was built on its old result is no longer current.
    upstream = old[1].key.input_key
    run(store, "c", Phase.ARCHAEOLOGY, upstream, Outcome.FAILED, ReasonCode.INSTALL_FAILED, attempt=1)
    index(store, settings)
    assert rows(settings, "SELECT status, reason_code FROM candidates") == [
        {"status": "not_reconstructed", "reason_code": "install_failed"}
    ]
    for table in ("environments", "verifiers", "test_results", "rollouts"):
        assert rows(settings, f"FROM {table}") == []
        assert rows(settings, f"FROM history.{table}") != []
    assert [row["status"] for row in rows(settings, "FROM reconstructions")] == ["failed"]
    assert len(rows(settings, "FROM phase_runs")) == 7
    # And again, this time it passes; the rest follows from the new key.
    again = run(store, "c", Phase.ARCHAEOLOGY, upstream, Outcome.PASSED, ReasonCode.OK, attempt=2)
    run(store, "c", Phase.CONTAINERIZE, again.key.input_key, Outcome.PASSED, ReasonCode.OK)
    index(store, settings)
    assert rows(settings, "SELECT status FROM candidates") == [{"status": "built"}]
    assert len(rows(settings, "FROM environments")) == 1


def test_views_say_what_they_are(world: Settings) -> None:
    views = rows(
        world, "SELECT view_name, comment FROM duckdb_views() WHERE schema_name = 'main' AND comment IS NOT NULL"
    )
    assert {row["view_name"] for row in views} == {path.stem for path in sql_files()}
