import json
from datetime import UTC, datetime

import pytest

from blocks.errors import PermanentError
from blocks.session import Intervention, Observation, Session, Speaker, Step, ToolCall
from tasks.capture.atif import Exchange, minimal_trajectory, session_trajectory

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def a_session(*steps: Step) -> Session:
    return Session(
        source="cline",
        session_id="s1",
        repository="https://github.com/owner/name",
        start_commit="a" * 40,
        start_evidence="environment details",
        steps=steps,
        model="some-model",
    )


A_SESSION = a_session(
    Step(index=0, speaker=Speaker.USER, text="fix it", intervention=Intervention.PROMPT, timestamp=MOMENT),
    Step(
        index=1,
        speaker=Speaker.AGENT,
        text="reading",
        reasoning="hm",
        model="some-model",
        tool_calls=(
            ToolCall(call_id="c1", name="read_file", arguments='{"path": "a.py", "limit": null}'),
            ToolCall(call_id="c2", name="execute_command", arguments="ls -l"),
        ),
        observations=(Observation(call_id="c1", content="x = 1"), Observation(call_id="gone", content="?")),
        prompt_tokens=7,
        cost_usd=0.5,
    ),
    Step(index=2, speaker=Speaker.USER, text="no", reasoning="not an agent's", prompt_tokens=1),
)


def test_a_session_keeps_who_spoke_calls_results_and_usage() -> None:
    document = json.loads(session_trajectory(A_SESSION, consent_scopes=["environment", "trajectory"]))

    assert document["schema_version"] == "ATIF-v1.8"
    assert [step["step_id"] for step in document["steps"]] == [1, 2, 3]
    assert [step["source"] for step in document["steps"]] == ["user", "agent", "user"]
    assert document["steps"][0]["timestamp"] == "2026-01-02T03:04:05+00:00"
    assert document["steps"][1]["tool_calls"] == [
        {"tool_call_id": "c1", "function_name": "read_file", "arguments": {"path": "a.py", "limit": None}},
        {"tool_call_id": "c2", "function_name": "execute_command", "arguments": {"input": "ls -l"}},
    ]
    assert document["steps"][1]["observation"]["results"] == [
        {"source_call_id": "c1", "content": "x = 1"},
        {"content": "?"},
    ]
    assert document["steps"][1]["metrics"] == {"prompt_tokens": 7, "cost_usd": 0.5}
    assert not {"reasoning_content", "metrics", "model_name", "tool_calls"} & set(document["steps"][2])
    assert document["final_metrics"] == {"total_prompt_tokens": 8, "total_cost_usd": 0.5, "total_steps": 3}
    assert document["extra"]["consent_scopes"] == ["environment", "trajectory"]
    assert document["extra"]["start_commit"] == "a" * 40


def test_text_that_is_not_unicode_still_makes_a_file() -> None:
    content = session_trajectory(a_session(Step(index=0, speaker=Speaker.USER, text="a\ud800b")), consent_scopes=[])
    assert json.loads(content)["steps"][0]["message"] == "a?b"


def test_a_session_without_steps_is_refused() -> None:
    with pytest.raises(PermanentError, match="s1"):
        session_trajectory(a_session(), consent_scopes=[])


def test_what_ran_without_a_model_says_so() -> None:
    oracle = json.loads(
        minimal_trajectory(
            "oracle",
            "fix it",
            [Exchange(command="bash /solution/solve.sh", output="done", exit_code=0)],
            session_id="r1",
            extra={"repository": "https://github.com/owner/name"},
        )
    )
    nop = json.loads(minimal_trajectory("nop", "fix it", [], session_id="r2"))

    assert [step["source"] for step in oracle["steps"]] == ["user", "agent"]
    assert oracle["steps"][1]["llm_call_count"] == 0
    assert "metrics" not in oracle["steps"][1]
    call = oracle["steps"][1]["tool_calls"][0]
    assert call["arguments"] == {"command": "bash /solution/solve.sh"}
    assert oracle["steps"][1]["observation"]["results"] == [{"source_call_id": call["tool_call_id"], "content": "done"}]
    assert "tool_calls" not in nop["steps"][1]
    assert nop["final_metrics"] == {"total_steps": 2}
