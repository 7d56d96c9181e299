"""What passes between a conversation and a model: a request, and a completion. Plain data; the key of a request is all of
it, so that an answer that was kept is an answer to exactly this.
"""

import hashlib
from typing import Literal

from blocks.records import Record

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(Record):
    """A tool the model asks for. `arguments` is what it wrote, hopefully a JSON object."""

    call_id: str
    name: str
    arguments: str


class Message(Record):
    """One message of a conversation."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant."""
    call_id: str | None = None
    """Of a tool: the call it answers."""


class ToolSpec(Record):
    """A tool as the model is told of it; `parameters` is a JSON schema as text."""

    name: str
    description: str
    parameters: str


class Usage(Record):
    """Tokens as the provider counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class ModelRequest(Record):
    """Everything an answer depends on."""

    models: tuple[str, ...]
    """The model, and those asked in turn where it does not answer; names as LiteLLM has them."""
    prompt: str
    """Names and versions of the prompts, e.g. `origin@1 judge@1`."""
    messages: tuple[Message, ...]
    answer_schema: str
    """JSON schema of the answer, as text."""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    max_tokens: int
    temperature: float | None = None
    structured: bool = True
    """Whether the provider is told the schema (`response_format`); the prompt tells it in any case."""

    @property
    def key(self) -> str:
        """sha256 over the whole request, 64 hex digits."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @property
    def most_prompt_tokens(self) -> int:
        """No tokenizer makes more of it: a token stands for at least one byte; some more for what providers put around."""
        parts = [self.answer_schema]
        parts += [f"{tool.name}{tool.description}{tool.parameters}" for tool in self.tools]
        for message in self.messages:
            parts += [message.content, *(f"{call.name}{call.arguments}" for call in message.tool_calls)]
        around = 512 + 64 * (len(self.messages) + len(self.tools))
        return around + sum(len(part.encode()) for part in parts)


class Completion(Record):
    """What a model answered, and what that took."""

    model: str
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str
    """`stop`, `tool_calls`, `length`, `content_filter`, or another word of the provider."""
    refusal: bool = False
    usage: Usage = Usage()
    cost_usd: float = 0.0
