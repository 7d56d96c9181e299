"""Qualify in Prefect, with a model: one candidate with a subflow per qualifier, many as one wave of task runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from blocks.chain import Chain
from blocks.lake import Owner, PhaseKey, PhaseWriter, acquire_lease, commit_phase, find_manifest, load_rows
from blocks.phases import expected_key
from blocks.records import CandidateRow, CostRow, Outcome, Phase, Qualifier, ReasonCode
from blocks.settings import load_settings
from blocks.workshop import Workshop
from tasks.qualify.phase import QUALIFY
from tests.flows.api import Api
from tests.modelserver import Answer, ModelServer, says
from tests.tasks.qualify.kettle import IDENTITY, PROMPT, Kettle, prompt_session

pytestmark = pytest.mark.prefect

WISH = {"text": "the wish", "quote": "when the pressure is exactly 1 bar", "where": "step:0"}


def passes(body: dict[str, Any], _: int) -> Answer:
    asked = body["messages"][1]["content"]
    outcome = None
    if "You are the outcome qualifier" in body["messages"][0]["content"]:
        outcome = asked.split('"commit":"')[1][:40]
    verdict = {"decision": "pass", "reason_code": "ok", "confidence": 0.9, "message": "plain", "claims": [WISH]}
    return says(json.dumps({**verdict, "outcome": outcome}))


def ingested(workshop: Workshop, start: str, number: int) -> PhaseKey:
    name = f"c-{number:016x}"
    session = prompt_session(start, f"{PROMPT} Seen {number} times this week by the people in the kitchen.")
    row = CandidateRow.model_validate(
        {"candidate_id": name, "contribution_id": f"x-{number}", "source": "prompt", "repository": IDENTITY,
         "start_commit": start, "start_fidelity": None, "instruction": session.prompt, "language": None,
         "created_at": "2026-01-01T00:00:00Z"}
    )  # fmt: skip
    writer = PhaseWriter(workshop.store, PhaseKey(candidate_id=name, phase=Phase.INGEST, input_key=f"{number:032x}"))
    writer.rows([row])
    writer.record("session.json", session)
    chain = Chain(workshop.store, name)
    chain = chain.with_manifest(commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "by hand"))
    return expected_key(QUALIFY, workshop.settings, chain, f"{number:032x}")


@pytest.mark.anyio
async def test_one_candidate_and_many(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

    from flows.qualify import qualify, qualify_wave
    from flows.server import await_recorded

    kettle = Kettle(tmp_path)
    kettle.fix()
    with ModelServer(passes) as server:
        for name, value in {
            "ENVMILL_HOME": str(tmp_path / "home"),
            "ENVMILL_MIRRORS": json.dumps({IDENTITY: str(kettle.history.folder)}),
            "ENVMILL_QUALIFY__PROVIDER": "litellm",
            "ENVMILL_MODELS__MODEL": "openai/served",
            "ENVMILL_MODELS__API_BASE": server.url,
            "ENVMILL_MODELS__API_KEY": "none",
            "ENVMILL_MODELS__PRICES": json.dumps({"openai/served": {"prompt_usd": 1, "completion_usd": 1}}),
        }.items():
            monkeypatch.setenv(name, value)
        workshop = Workshop(load_settings())
        keys = [ingested(workshop, kettle.start, number) for number in range(1, 5)]
        with temporary_settings({PREFECT_API_URL: api.url, PREFECT_HOME: tmp_path / "prefect"}):
            from blocks.prefect_options import started_task_runs

            state = await qualify(keys[0], "kettle-alone", return_state=True)
            assert state.is_completed(), state.message
            # Somebody else does the second one: that stops neither the third nor the fourth.
            somebody = Owner(host="elsewhere", boot_id="b", pid_namespace="n", pid=1, start_ticks=1, flow_run_id="f")
            acquire_lease(workshop.store, keys[1].input_key, owner=somebody, ttl_sec=600)
            others = {run["id"] for run in api.runs("qualify-wave-")}
            with started_task_runs() as ids:
                report = await qualify_wave(keys)
                assert await await_recorded(ids) == 0
    assert [(result.candidate_id, result.outcome, result.reused) for result in report.results] == [
        (keys[0].candidate_id, Outcome.PASSED, True),
        (keys[2].candidate_id, Outcome.PASSED, False),
        (keys[3].candidate_id, Outcome.PASSED, False),
    ]
    [(crashed, why)] = report.crashed
    assert crashed == keys[1] and "elsewhere" in why
    assert len(server.requests) == 3 * len(Qualifier)
    for key in (keys[0], keys[2], keys[3]):
        manifest = find_manifest(workshop.store, key)
        assert manifest is not None
        costs = {row.kind: row.value for row in load_rows(workshop.store, manifest, CostRow)}
        assert costs["model_calls"] == 4 and costs["model_usd"] > 0
        assert {entry.name for entry in manifest.files} >= {f"verdicts/{name.value}.json" for name in Qualifier}
    # What a person sees: a subflow per qualifier of the one, a task run per qualifier of the many.
    subflows = api.runs("-kettle-alone")
    assert {run["name"] for run in subflows} == {"qualify-kettle-alone"} | {
        f"{name.value}-kettle-alone" for name in Qualifier
    }
    assert {run["state_type"] for run in subflows} == {"COMPLETED"}
    [wave] = [run for run in api.runs("qualify-wave-") if run["id"] not in others]
    tasks = api.ask("task_runs", task_runs={"flow_run_id": {"any_": [wave["id"]]}})
    names = {run["name"] for run in tasks}
    for key in (keys[2], keys[3]):
        assert names >= {f"{name.value} {key.candidate_id}" for name in Qualifier} | {f"settle {key.candidate_id}"}
    assert {run["state_type"] for run in tasks} == {"COMPLETED"} and len(tasks) == 10


@pytest.mark.anyio
@pytest.mark.parametrize("place", ["flow", "step"])
async def test_what_nobody_expected_of_one_stops_no_other(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

    import flows.qualify
    import tasks.qualify.steps
    from flows.server import await_recorded

    kettle = Kettle(tmp_path)
    kettle.fix()
    monkeypatch.setenv("ENVMILL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ENVMILL_MIRRORS", json.dumps({IDENTITY: str(kettle.history.folder)}))
    workshop = Workshop(load_settings())
    keys = [ingested(workshop, kettle.start, number) for number in (11, 12)]
    module, name = (flows.qualify, "find_manifest") if place == "flow" else (tasks.qualify.steps, "judge")
    real = getattr(module, name)

    def breaks(somewhere: object, key: PhaseKey, *more: object) -> object:
        if key == keys[0]:
            raise KeyError("what a session said")
        return real(somewhere, key, *more)

    monkeypatch.setattr(module, name, breaks)
    with temporary_settings({PREFECT_API_URL: api.url, PREFECT_HOME: tmp_path / "prefect"}):
        from blocks.prefect_options import started_task_runs

        with started_task_runs() as ids:
            report = await flows.qualify.qualify_wave(keys)
            assert await await_recorded(ids) == 0
    assert [(one.candidate_id, one.outcome) for one in report.results] == [(keys[1].candidate_id, Outcome.PASSED)]
    [(crashed, why)] = report.crashed
    assert crashed == keys[0] and "KeyError at test_qualify_wave.py" in why and "session" not in why


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
