import asyncio

import pytest

from blocks.llm import (
    Completion,
    Data,
    Fault,
    Limits,
    NoTools,
    Prompt,
    Question,
    Reply,
    Toolbox,
    ToolResult,
    ToolSpec,
    converse,
)
from blocks.records import Record
from tests.blocks.llm.scripted import Scripted, calls, roles, said

LIMITS = Limits(turns=5, calls_per_turn=2, tool_bytes=100, total_bytes=400, max_tokens=50)


class Verdict(Record):
    value: int
    why: str


GOOD = '{"value": 3, "why": "seen"}'


class Lines:
    specs = (ToolSpec(name="read", description="Read.", parameters='{"type": "object"}'),)

    async def call(self, name: str, arguments: str) -> ToolResult:
        if name != "read":
            return ToolResult(text=f"there is no tool {name}", ok=False)
        return ToolResult(text=f"read {arguments} " + "x" * 500)


def ask(model: Scripted, toolbox: Toolbox | None = None, limits: Limits = LIMITS) -> Reply[Verdict]:
    question = Question(
        prompt=Prompt(label="test@1", text="Judge."),
        task="Is it three?",
        data=[Data(title="text", text="three")],
        answer=Verdict,
        check=lambda answer: "value is three" if answer.value != 3 else None,
        toolbox=toolbox or NoTools(),
    )
    return asyncio.run(converse(model, ("m",), question, limits))


@pytest.mark.parametrize("text", [GOOD, f"```json\n{GOOD}\n```", f"Here it is:\n{GOOD}"])
def test_an_answer_of_the_type_is_the_answer(text: str) -> None:
    model = Scripted(said(text))
    reply = ask(model)
    assert (reply.answer, reply.fault, reply.turns) == (Verdict(value=3, why="seen"), None, 1)
    assert roles(model.requests[0]) == ["system", "user"]
    asked = model.requests[0].messages[1].content
    assert asked.index("three") < asked.index("Is it three?") < asked.index('"value"')


@pytest.mark.parametrize(
    "bad",
    [
        said("I would say three."),
        said(""),
        said('{"value": 3}'),
        said('{"value": 3, "why": "seen", "more": 1}'),
        said('{"value": "three", "why": "seen"}'),
        said('{"value": 4, "why": "seen"}'),
        said('{"value": 3, "why": "se'),
        said("[]"),
        said("{}" + "x" * 50_000),
        said(GOOD, finish_reason="length"),
    ],
)
def test_a_wrong_answer_may_be_mended_once(bad: Completion) -> None:
    mended = Scripted(bad, said(GOOD))
    assert ask(mended).answer == Verdict(value=3, why="seen")
    assert roles(mended.requests[1]) == ["system", "user", "assistant", "user"]
    stubborn = Scripted(bad)
    reply = ask(stubborn)
    assert (reply.answer, reply.fault, len(stubborn.requests)) == (None, Fault.INVALID, 2)


@pytest.mark.parametrize("refused", [said("", refusal=True), said(GOOD, refusal=True, finish_reason="content_filter")])
def test_a_refusal_is_no_answer(refused: Completion) -> None:
    model = Scripted(refused)
    assert (ask(model).fault, len(model.requests)) == (Fault.REFUSED, 1)


def test_tools_are_used_within_bounds_and_their_results_are_data() -> None:
    model = Scripted(calls(("read", "a"), ("write", "b"), ("read", "c")), said(GOOD))
    reply = ask(model, Lines())
    assert reply.answer is not None
    assert (reply.tool_calls, reply.bad_calls) == (2, 2)  # no such tool, and one too many
    second = model.requests[1]
    assert roles(second) == ["system", "user", "assistant", "tool", "tool", "user"]
    read, write = second.messages[3], second.messages[4]
    assert (read.call_id, write.call_id) == ("call_1_1", "call_1_2")
    assert read.content.startswith("<data ") and "left out" in read.content and len(read.content) < 300
    assert write.content == "error: there is no tool write"


def test_an_endless_loop_of_tools_ends_at_the_limit_of_turns() -> None:
    model = Scripted(calls(("read", "a")))
    reply = ask(model, Lines(), LIMITS.model_copy(update={"total_bytes": 10**6}))
    assert (reply.answer, reply.fault, len(model.requests)) == (None, Fault.ENDLESS, 5)
    assert [request.tool_choice for request in model.requests] == ["auto"] * 4 + ["none"]


def test_an_endless_loop_of_tools_ends_at_the_limit_of_bytes() -> None:
    model = Scripted(calls(("read", "a"), ("read", "b")))
    limits = LIMITS.model_copy(update={"turns": 50})
    reply = ask(model, Lines(), limits)
    assert (reply.fault, len(model.requests)) == (Fault.ENDLESS, 3)


def test_tools_that_do_not_exist_lead_nowhere() -> None:
    model = Scripted(calls(("pass_the_candidate", "{}")))
    reply = ask(model)
    assert (reply.answer, reply.fault) == (None, Fault.ENDLESS)
    assert reply.bad_calls == reply.tool_calls == LIMITS.turns - 1


def test_a_model_told_to_answer_may_still_answer() -> None:
    model = Scripted(*[calls(("read", "a"))] * 4, said(GOOD))
    reply = ask(model, Lines(), LIMITS.model_copy(update={"total_bytes": 10**6}))
    assert reply.answer is not None


def test_the_key_is_of_the_whole_request_and_the_same_conversation_has_the_same_keys() -> None:
    def keys(*completions: Completion) -> list[str]:
        model = Scripted(*completions)
        ask(model, Lines())
        return [request.key for request in model.requests]

    first, again = (keys(calls(("read", "a")), said(GOOD)) for _ in range(2))
    assert first == again and len(set(first)) == 2
    other = keys(calls(("read", "b")), said(GOOD))
    assert other[0] == first[0] and other[1] != first[1]
    request = Scripted(said(GOOD))
    ask(request)
    base = request.requests[0]
    changed = [
        {"models": ("n",)},
        {"prompt": "test@2"},
        {"max_tokens": 51},
        {"temperature": 0.0},
        {"structured": False},
        {"answer_schema": "{}"},
        {"tools": Lines.specs},
        {"tool_choice": "none"},
        {"messages": base.messages[:1]},
    ]
    assert len({base.model_copy(update=update).key for update in changed} | {base.key}) == len(changed) + 1
