"""A typed question: data and tools go in, an answer of the type asked for comes out, or a fault; within limits.

The model may call tools for some turns; then it has to answer. An answer that is not of the type, or that the check of
the question refuses, may be mended once.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from blocks.llm.asking import Model
from blocks.llm.faults import Fault, NoAnswerError
from blocks.llm.fence import Data, cut, fenced
from blocks.llm.messages import Completion, Message, ModelRequest, ToolCall, ToolSpec
from blocks.llm.prompts import Prompt
from blocks.records import Record

A = TypeVar("A", bound=BaseModel)
_MAX_ANSWER = 40_000
_REPAIR = "That is not the answer that was asked for: {why}. Answer again with one JSON object of the schema and nothing else."
_LAST = "No more tools: answer now, with one JSON object of the schema."


class ToolResult(Record):
    """What a tool gives back. `ok` is False where the call itself was wrong."""

    text: str
    ok: bool = True


class Toolbox(Protocol):
    """Tools that only read. `call` never raises for what a model may write."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What there is."""
        ...

    async def call(self, name: str, arguments: str) -> ToolResult:
        """Do one call."""
        ...


class NoTools:
    """Nothing to call."""

    specs: tuple[ToolSpec, ...] = ()

    async def call(self, name: str, arguments: str) -> ToolResult:
        """An error."""
        del arguments
        return ToolResult(text=f"there is no tool {name[:80]!r}", ok=False)


class Limits(Record):
    """Bounds of one conversation; they go into the keys of phases."""

    turns: int = 10
    """Completions in all, the repair among them."""
    calls_per_turn: int = 6
    tool_bytes: int = 12_000
    """Of one tool result."""
    total_bytes: int = 120_000
    """Of all tool results together; then the model has to answer."""
    max_tokens: int = 3000
    """Of one completion."""


@dataclass(frozen=True)
class Question(Generic[A]):
    """What is asked."""

    prompt: Prompt
    task: str
    """Ours: what is to be done with the data."""
    data: Sequence[Data]
    answer: type[A]
    check: Callable[[A], str | None] = lambda _: None
    """Says what is wrong with an answer of the right type, or None."""
    toolbox: Toolbox = NoTools()  # noqa: RUF009 - holds nothing


@dataclass(frozen=True)
class Reply(Generic[A]):
    """How it ended: an answer, or a fault with what was said of it."""

    answer: A | None
    fault: Fault | None
    said: str
    model: str | None
    turns: int
    tool_calls: int
    bad_calls: int
    transcript: tuple[Message, ...]


class _Conversation(Generic[A]):
    def __init__(self, model: Model, models: tuple[str, ...], question: Question[A], limits: Limits) -> None:
        self.model = model
        self.models = models
        self.question = question
        self.limits = limits
        self.schema = _schema(question.answer)
        blocks = "\n\n".join(fenced(data) for data in question.data)
        asked = f"{blocks}\n\n{question.task}\n\nJSON schema of the answer:\n{self.schema}"
        self.messages = [Message(role="system", content=question.prompt.text), Message(role="user", content=asked)]
        self.turns = self.tool_calls = self.bad_calls = self.tool_bytes = 0
        self.repaired = False
        self.answered_by: str | None = None

    async def run(self, temperature: float | None, structured: bool) -> Reply[A]:
        try:
            return self._reply(await self._converse(temperature, structured), None, "")
        except NoAnswerError as error:
            return self._reply(None, error.fault, str(error))

    async def _converse(self, temperature: float | None, structured: bool) -> A:
        while self.turns < self.limits.turns:
            last = self.turns == self.limits.turns - 1 or self.tool_bytes >= self.limits.total_bytes
            if last and self.question.toolbox.specs and self.messages[-1].content != _LAST:
                self.messages.append(Message(role="user", content=_LAST))
            request = ModelRequest(
                models=self.models,
                prompt=self.question.prompt.label,
                messages=tuple(self.messages),
                answer_schema=self.schema,
                tools=self.question.toolbox.specs,
                tool_choice="none" if last else "auto",
                max_tokens=self.limits.max_tokens,
                temperature=temperature,
                structured=structured,
            )
            completion = await self.model.complete(request)
            self.turns += 1
            self.answered_by = completion.model
            if completion.refusal:
                raise NoAnswerError(Fault.REFUSED, f"{completion.model} would not answer ({completion.finish_reason})")
            if completion.tool_calls and not last:
                await self._use_tools(completion)
                continue
            if completion.tool_calls:
                break
            found = self._parse(completion)
            if not isinstance(found, str):
                return found
            if self.repaired or last:
                raise NoAnswerError(Fault.INVALID, f"{completion.model}: {found}")
            self.repaired = True
            self._say(completion.text, ())
            self.messages.append(Message(role="user", content=_REPAIR.format(why=found)))
        raise NoAnswerError(
            Fault.ENDLESS, f"no answer within {self.turns} turns and {self.tool_bytes} bytes of tool results"
        )

    async def _use_tools(self, completion: Completion) -> None:
        # Ids of our own: the provider's are random, and would make every request a new one.
        calls = tuple(
            ToolCall(
                call_id=f"call_{self.turns}_{number}",
                name=call.name[:64] or "unnamed",
                arguments=call.arguments[:4000],
            )
            for number, call in enumerate(completion.tool_calls[: self.limits.calls_per_turn], start=1)
        )
        self._say(completion.text, calls)
        for call in calls:
            result = await self.question.toolbox.call(call.name, call.arguments)
            self.tool_calls += 1
            self.bad_calls += not result.ok
            text = cut(result.text, self.limits.tool_bytes)
            self.tool_bytes += len(text.encode("utf-8", "surrogatepass"))
            told = fenced(Data(title=f"result of {call.name}", text=text)) if result.ok else f"error: {text}"
            self.messages.append(Message(role="tool", content=told, call_id=call.call_id))
        surplus = len(completion.tool_calls) - len(calls)
        if surplus:
            self.bad_calls += surplus
            told = f"Only {self.limits.calls_per_turn} calls per turn are made; {surplus} were left out."
            self.messages.append(Message(role="user", content=told))

    def _say(self, text: str, calls: tuple[ToolCall, ...]) -> None:
        self.messages.append(Message(role="assistant", content=cut(text, _MAX_ANSWER), tool_calls=calls))

    def _parse(self, completion: Completion) -> A | str:
        """The answer, or what is wrong with it."""
        if completion.finish_reason == "length":
            return f"it was cut off after {self.limits.max_tokens} tokens"
        text = completion.text.strip()
        begin, end = text.find("{"), text.rfind("}")
        if begin < 0 or end < begin or len(text) > _MAX_ANSWER:
            return "it holds no JSON object"
        try:
            found = self.question.answer.model_validate_json(text[begin : end + 1])
        except ValidationError as error:
            faults = [f"{'.'.join(map(str, item['loc'])) or 'all of it'}: {item['msg']}" for item in error.errors()[:5]]
            return "; ".join(faults)
        return self.question.check(found) or found

    def _reply(self, answer: A | None, fault: Fault | None, said: str) -> Reply[A]:
        return Reply(
            answer=answer,
            fault=fault,
            said=said,
            model=self.answered_by,
            turns=self.turns,
            tool_calls=self.tool_calls,
            bad_calls=self.bad_calls,
            transcript=tuple(self.messages),
        )


@cache
def _schema(answer: type[BaseModel]) -> str:
    return json.dumps(answer.model_json_schema(), sort_keys=True)


async def converse(
    model: Model,
    models: tuple[str, ...],
    question: Question[A],
    limits: Limits,
    *,
    temperature: float | None = None,
    structured: bool = True,
) -> Reply[A]:
    """Ask the question.

    Args:
        model: who answers, live or recorded.
        models: names of the model and its fallbacks.
        question: what is asked.
        limits: bounds of the conversation.
        temperature: sent where given; some models take none.
        structured: whether the provider is told the schema.

    Returns:
        The answer, or the fault: every way to end but a wrong setting is a value.

    Raises:
        PermanentError: a setting is wrong: no key, no such model, no known price.
    """
    return await _Conversation(model, models, question, limits).run(temperature, structured)
