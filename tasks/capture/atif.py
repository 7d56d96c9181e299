"""Trajectories in ATIF 1.8, the format Harbor reads and trains from (harbor 0.26, models/trajectories).

The models here write only what envmill knows; absent values are left out, as the format wants. Unknown fields make a
reader refuse the whole file, so everything of our own goes into `extra`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from pydantic import JsonValue

from blocks.errors import PermanentError
from blocks.records import Record
from blocks.session import Session, Speaker, Step

SCHEMA_VERSION = "ATIF-v1.8"
Extra = Mapping[str, JsonValue]
Number = TypeVar("Number", int, float)


class AtifToolCall(Record):
    """A tool call; `arguments` is always an object."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]


class AtifResult(Record):
    """One result of an observation. `source_call_id` names a call of the same step."""

    source_call_id: str | None = None
    content: str


class AtifObservation(Record):
    """What came back in a step."""

    results: tuple[AtifResult, ...]


class AtifMetrics(Record):
    """Usage of one step."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


class AtifStep(Record):
    """One step; `step_id` counts from 1 without gaps."""

    step_id: int
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    message: str
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[AtifToolCall, ...] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    llm_call_count: int | None = None
    extra: dict[str, JsonValue] | None = None


class AtifAgent(Record):
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None


class AtifFinalMetrics(Record):
    """Usage of the whole trajectory."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int


class AtifTrajectory(Record):
    """A whole trajectory."""

    schema_version: str = SCHEMA_VERSION
    session_id: str
    agent: AtifAgent
    steps: tuple[AtifStep, ...]
    notes: str | None = None
    final_metrics: AtifFinalMetrics
    extra: dict[str, JsonValue]

    def to_json(self) -> bytes:
        """The file as it is published; lone surrogates in texts become `?`."""
        document = self.model_dump(mode="python", exclude_none=True)
        return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode(errors="replace")


class Exchange(Record):
    """A command that was run in the environment and what it printed."""

    command: str
    output: str
    exit_code: int | None = None


def session_trajectory(session: Session, *, consent_scopes: Sequence[str], agent_version: str = "unknown") -> bytes:
    """The contributed session itself, as ATIF JSON.

    Raises:
        PermanentError: the session has no step.
    """
    if not session.steps:
        raise PermanentError(f"session {session.session_id}: it has no steps, and a trajectory needs one")
    steps = tuple(_step(number, step) for number, step in enumerate(session.steps, start=1))
    extra: dict[str, JsonValue] = {
        "repository": session.repository,
        "start_commit": session.start_commit,
        "source": session.source,
        "consent_scopes": list(consent_scopes),
        "redacted": True,
    }
    return AtifTrajectory(
        session_id=session.session_id,
        agent=AtifAgent(name=session.source, version=agent_version, model_name=session.model),
        steps=steps,
        final_metrics=AtifFinalMetrics(
            total_prompt_tokens=_total([step.prompt_tokens for step in session.steps]),
            total_completion_tokens=_total([step.completion_tokens for step in session.steps]),
            total_cost_usd=_total([step.cost_usd for step in session.steps]),
            total_steps=len(steps),
        ),
        extra=extra,
    ).to_json()


def minimal_trajectory(
    agent: str,
    instruction: str,
    exchanges: Sequence[Exchange],
    *,
    session_id: str,
    agent_version: str = "1",
    extra: Extra | None = None,
) -> bytes:
    """What an agent without a model did (nop, oracle, replay): no call of a language model, one step per command."""
    prompt = AtifStep(step_id=1, source="user", message=instruction)
    done = tuple(_exchange(number, exchange) for number, exchange in enumerate(exchanges, start=2))
    if not done:
        done = (AtifStep(step_id=2, source="agent", message="Did nothing.", llm_call_count=0),)
    return AtifTrajectory(
        session_id=session_id,
        agent=AtifAgent(name=agent, version=agent_version),
        steps=(prompt, *done),
        final_metrics=AtifFinalMetrics(total_steps=1 + len(done)),
        extra=dict(extra or {}),
    ).to_json()


def _step(number: int, step: Step) -> AtifStep:
    from_agent = step.speaker is Speaker.AGENT
    calls = tuple(
        AtifToolCall(tool_call_id=call.call_id, function_name=call.name, arguments=_object(call.arguments))
        for call in step.tool_calls
        if from_agent
    )
    known = {call.tool_call_id for call in calls}
    results = tuple(
        AtifResult(source_call_id=seen.call_id if seen.call_id in known else None, content=seen.content)
        for seen in step.observations
    )
    usage = AtifMetrics(
        prompt_tokens=step.prompt_tokens, completion_tokens=step.completion_tokens, cost_usd=step.cost_usd
    )
    return AtifStep(
        step_id=number,
        timestamp=step.timestamp.isoformat() if step.timestamp else None,
        source=step.speaker.value,
        message=step.text,
        model_name=step.model if from_agent else None,
        reasoning_content=step.reasoning if from_agent else None,
        tool_calls=calls or None,
        observation=AtifObservation(results=results) if results else None,
        metrics=usage if from_agent and usage != AtifMetrics() else None,
        extra={"intervention": step.intervention.value} if step.intervention else None,
    )


def _exchange(number: int, exchange: Exchange) -> AtifStep:
    call = AtifToolCall(tool_call_id=f"call-{number}", function_name="bash", arguments={"command": exchange.command})
    return AtifStep(
        step_id=number,
        source="agent",
        message="",
        tool_calls=(call,),
        observation=AtifObservation(
            results=(AtifResult(source_call_id=call.tool_call_id, content=exchange.output),),
        ),
        llm_call_count=0,
        extra=None if exchange.exit_code is None else {"exit_code": exchange.exit_code},
    )


def _object(arguments: str) -> dict[str, JsonValue]:
    """Arguments as an object; text that is none is kept whole under `input`."""
    try:
        value = json.loads(arguments)
    except ValueError:
        value = arguments
    return value if isinstance(value, dict) else {"input": value}


def _total(values: Sequence[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
