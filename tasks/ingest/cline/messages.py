"""Rows of `api_conversation_history.json` as typed values. Images and opaque signatures are not read."""

from collections.abc import Mapping
from datetime import datetime

from blocks.records import Record
from tasks.ingest.raw import as_cost, as_int, as_list, as_map, as_moment, as_text, clean_json


class Text(Record):
    """A text block."""

    text: str


class ToolUse(Record):
    """A native tool call. `arguments` has JSON values only."""

    call_id: str
    name: str
    arguments: dict[str, object]


class ToolResult(Record):
    """A native tool result; `text` joins its text blocks."""

    call_id: str
    text: str


class Thinking(Record):
    """The model's visible reasoning, without its signature."""

    text: str


Block = Text | ToolUse | ToolResult | Thinking


class Message(Record):
    """One row. `from_user` also where the "user" is the tool speaking in the user's name."""

    from_user: bool
    blocks: tuple[Block, ...]
    timestamp: datetime | None
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


def parse_message(row: object) -> Message | None:
    """The row, or None where it is no object with a known role. Blocks of unknown kinds are left out."""
    fields = as_map(row)
    role = fields.get("role")
    if role not in ("user", "assistant"):
        return None
    content = fields.get("content")
    blocks = [Text(text=as_text(content))] if isinstance(content, str) else _blocks(content)
    metrics = as_map(fields.get("metrics"))
    tokens = as_map(metrics.get("tokens"))
    prompt, cached = as_int(tokens.get("prompt")), as_int(tokens.get("cached"))
    return Message(
        from_user=role == "user",
        blocks=tuple(blocks),
        timestamp=as_moment(fields.get("ts")),
        model=as_text(as_map(fields.get("modelInfo")).get("modelId")) or None,
        prompt_tokens=None if prompt is None else prompt + (cached or 0),
        completion_tokens=as_int(tokens.get("completion")),
        cost_usd=as_cost(metrics.get("cost")),
    )


def _blocks(content: object) -> list[Block]:
    return [block for block in (_block(as_map(item)) for item in as_list(content)) if block is not None]


def _block(fields: Mapping[str, object]) -> Block | None:
    match fields.get("type"):
        case "text":
            return Text(text=as_text(fields.get("text")))
        case "thinking":
            return Thinking(text=as_text(fields.get("thinking")))
        case "tool_use":
            arguments = clean_json(dict(as_map(fields.get("input"))))
            return ToolUse(
                call_id=as_text(fields.get("id")),
                name=as_text(fields.get("name")),
                arguments={key: value for key, value in as_map(arguments).items() if key != "task_progress"},
            )
        case "tool_result":
            return ToolResult(call_id=as_text(fields.get("tool_use_id")), text=_joined(fields.get("content")))
        case _:
            return None


def _joined(content: object) -> str:
    if isinstance(content, str):
        return as_text(content)
    return "\n".join(
        as_text(as_map(item).get("text")) for item in as_list(content) if as_map(item).get("type") == "text"
    )
