"""What stands in a user row: results of tools, words of the user, and text that Cline adds by itself.

Words of the user are taken only from where Cline puts them. A file the agent read may hold any of these tags: in the
result of a tool that shows content they are content.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from blocks.records import Record
from blocks.session import Intervention
from tasks.ingest.cline.environment import OPENING
from tasks.ingest.cline.messages import Block, Text, ToolResult

_HEADER = re.compile(r"\A\[([A-Za-z_]\w*)(?: (?:for|in) (.{0,20000}?))?\] Result:(?:\n|\Z)", re.DOTALL)
_SKIPPED = re.compile(r"\ATool \[(\w+)\] was not executed")
_TASK = re.compile(r"\A\s*<task>\n?(.*?)\n?</task>(.*)\Z", re.DOTALL)
_INPUT = re.compile(r'\A\s*<user_input(?: mode="\w+")?>\n?(.*?)\n?</user_input>(.*)\Z', re.DOTALL)
_LATE = "\n\nThe user provided the following feedback:\n<feedback>"
_USER_EDIT = re.compile(
    r"\AThe user made the following updates to your content:\n\n(.*?)\n\nThe (?:updated|user's)", re.DOTALL
)
_RESUMPTION = "[TASK RESUMPTION]"
_DENIED = "The user denied this operation"
_ASIDE = ("The user provided the following feedback:", "You seem to be having trouble proceeding.")
_WORDS_OF_TOOL = {
    "attempt_completion": ("feedback", Intervention.FEEDBACK),
    "new_task": ("feedback", Intervention.FEEDBACK),
    "condense": ("feedback", Intervention.FEEDBACK),
    "act_mode_respond": ("feedback", Intervention.FEEDBACK),
    "ask_followup_question": ("answer", Intervention.ANSWER),
    "plan_mode_respond": ("user_message", Intervention.MESSAGE),
    "plan_mode_response": ("user_message", Intervention.MESSAGE),
}
"""Tools that show nothing but the user's words, and the tag these stand in."""


class Kind(StrEnum):
    """What a piece of a user row is."""

    RESULT = "result"
    USER = "user"
    NOTE = "note"
    """Cline's own words about a resumed task."""
    ENVIRONMENT = "environment"
    OTHER = "other"


class Piece(Record):
    """One piece of a user row, in order."""

    kind: Kind
    text: str
    tool: str | None = None
    """For results: the tool's name as the header says it."""
    subject: str | None = None
    """For results with a header: what the header says after `for`."""
    call_id: str | None = None
    """For native results."""
    intervention: Intervention | None = None


def pieces_of(blocks: Sequence[Block], tools_by_id: dict[str, str]) -> list[Piece]:
    """Split a user row. `tools_by_id` names the tool of each native call."""
    pieces: list[Piece] = []
    header: Piece | None = None
    for block in blocks:
        if header is not None and isinstance(block, Text) and not block.text.startswith(OPENING):
            pieces.extend(_with_words(header.model_copy(update={"text": block.text})))
            header = None
            continue
        if header is not None:
            pieces.append(header)
            header = None
        if isinstance(block, ToolResult):
            tool = tools_by_id.get(block.call_id)
            pieces.extend(_with_words(Piece(kind=Kind.RESULT, text=block.text, tool=tool, call_id=block.call_id)))
        elif isinstance(block, Text):
            piece = _piece(block.text)
            if piece.kind is Kind.RESULT and block.text.endswith("Result:"):
                header = piece
            else:
                pieces.extend(_with_words(piece) if piece.kind is Kind.RESULT else _words(piece))
    return pieces if header is None else [*pieces, header]


def _piece(text: str) -> Piece:
    if text.startswith(OPENING):
        return Piece(kind=Kind.ENVIRONMENT, text=text)
    if match := _HEADER.match(text):
        subject = match[2]
        return Piece(
            kind=Kind.RESULT,
            text=text[match.end() :],
            tool=match[1],
            subject=subject[1:-1] if subject and len(subject) > 1 and subject[0] == subject[-1] == "'" else subject,
        )
    if match := _SKIPPED.match(text):
        return Piece(kind=Kind.RESULT, text=text, tool=match[1])
    if text.startswith(_RESUMPTION):
        return Piece(kind=Kind.NOTE, text=text)
    return Piece(kind=Kind.OTHER, text=text)


def _words(piece: Piece) -> list[Piece]:
    """A piece without a tool, with the user's words in it taken apart."""
    if match := _TASK.match(piece.text) or _INPUT.match(piece.text):
        rest = [Piece(kind=Kind.OTHER, text=match[2].strip("\n"))] if match[2].strip() else []
        return [_user(match[1], Intervention.PROMPT), *rest]
    if piece.text.startswith(_ASIDE) and (said := _between(piece.text, "feedback")) is not None:
        return [_user(said, Intervention.FEEDBACK)]
    if piece.text.startswith(_DENIED):
        return [_rejection(piece.text)]
    if (said := _between(piece.text, "user_message")) is not None:
        before = piece.text[: piece.text.find("<user_message>")].strip()
        rest = [piece.model_copy(update={"text": before})] if piece.kind is Kind.NOTE and before else []
        return [*rest, _user(said, Intervention.MESSAGE)]
    if piece.text.lstrip().startswith("<feedback>") and (said := _between(piece.text, "feedback")) is not None:
        return [_user(said, Intervention.FEEDBACK)]
    return [piece]


def _with_words(piece: Piece) -> list[Piece]:
    """A result, followed by what the user said with it."""
    if piece.text.startswith(_DENIED):
        return [piece, _rejection(piece.text)]
    tag, intervention = _WORDS_OF_TOOL.get(piece.tool or "", ("", Intervention.MESSAGE))
    if tag and (said := _between(piece.text, tag)) is not None:
        return [piece, _user(said, intervention)]
    if piece.tool == "execute_command" and piece.text.rstrip().endswith("</feedback>"):
        start = piece.text.rfind(_LATE)
        if start >= 0 and (said := _between(piece.text[start:], "feedback")) is not None:
            return [piece, _user(said, Intervention.FEEDBACK)]
    if match := _USER_EDIT.match(piece.text):
        return [piece, _user(match[1], Intervention.FEEDBACK)]
    return [piece]


def _rejection(text: str) -> Piece:
    said = _between(text, "feedback")
    return _user(f"{_DENIED}." if said is None else said, Intervention.REJECTION)


def _between(text: str, tag: str) -> str | None:
    """From the first opening to the last closing tag. Plain finds: a pattern would take quadratic time on hostile text."""
    start, end = text.find(f"<{tag}>"), text.rfind(f"</{tag}>")
    return text[start + len(tag) + 2 : end] if 0 <= start < end else None


def _user(text: str, intervention: Intervention) -> Piece:
    return Piece(kind=Kind.USER, text=text.strip(), intervention=intervention)
