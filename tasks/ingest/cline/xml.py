"""Tool calls that stand as XML in the assistant's text (Cline 1.x to 3.3x)."""

import re
from collections.abc import Iterator

from blocks.records import Record

_REQUIRED = {
    "execute_command": "command",
    "read_file": "path",
    "write_to_file": "content",
    "replace_in_file": "diff",
    "search_files": "regex",
    "list_files": "path",
    "list_code_definition_names": "path",
    "browser_action": "action",
    "use_mcp_tool": "server_name",
    "access_mcp_resource": "uri",
    "ask_followup_question": "question",
    "plan_mode_respond": "response",
    "plan_mode_response": "response",
    "attempt_completion": "result",
    "new_task": "context",
    "condense": "context",
    "web_fetch": "url",
}
_GREEDY = frozenset({"content", "diff", "arguments"})
"""Parameters that may hold tags of their own: they end at the last closing tag."""
_OPEN = re.compile(rf"<({'|'.join(_REQUIRED)})>(?=\s*<[a-z_]{{1,40}}>)")
_PARAMETER = re.compile(r"<([a-z_]{1,40})>")
_MOST_CALLS, _MOST_PARAMETERS = 50, 20
"""Calls looked for in one message, and parameters in one call: hostile text must not take quadratic time."""


class XmlTool(Record):
    """A tool call found in text."""

    name: str
    arguments: dict[str, str]


def split_thinking(text: str) -> tuple[str, str]:
    """The text without `<thinking>` parts, and those parts."""
    opening, closing = "<thinking>", "</thinking>"
    prose: list[str] = []
    thoughts: list[str] = []
    position = 0
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start)) >= 0:
        prose.append(text[position:start])
        thoughts.append(text[start + len(opening) : end].strip())
        position = end + len(closing)
    return "".join([*prose, text[position:]]), "\n".join(thoughts)


def split_tools(text: str) -> tuple[str, list[XmlTool]]:
    """The prose and the complete tool calls. A call without its closing tag or its required parameter stays prose."""
    prose: list[str] = []
    tools: list[XmlTool] = []
    position = 0
    for opening, end, tool in _calls(text):
        if opening >= position:
            prose.append(text[position:opening])
            tools.append(tool)
            position = end
    prose.append(text[position:])
    return "".join(prose).strip(), tools


def _calls(text: str) -> Iterator[tuple[int, int, XmlTool]]:
    position = 0
    for _ in range(_MOST_CALLS):
        match = _OPEN.search(text, position)
        if match is None:
            return
        name = match[1]
        position = match.end()
        end = _end(text, name, match.end())
        if end is None:
            continue
        arguments = _parameters(text[match.end() : end])
        if _REQUIRED[name] not in arguments:
            continue
        position = end + len(f"</{name}>")
        yield match.start(), position, XmlTool(name=name, arguments=arguments)


def _end(text: str, name: str, start: int) -> int | None:
    """Where the closing tag of the call begins."""
    required = _REQUIRED[name]
    if required in _GREEDY:
        tail = re.compile(rf"</{required}>\s*(?:<([a-z_]+)>[^<]*</\1>\s*)*(</{name}>)").search(text, start)
        return tail.start(2) if tail else None
    found = text.find(f"</{name}>", start)
    return found if found >= 0 else None


def _parameters(body: str) -> dict[str, str]:
    found: dict[str, str] = {}
    position = 0
    for _ in range(_MOST_PARAMETERS):
        match = _PARAMETER.search(body, position)
        if match is None:
            break
        name = match[1]
        closing = f"</{name}>"
        end = body.rfind(closing) if name in _GREEDY else body.find(closing, match.end())
        if end < match.end():
            position = match.end()
            continue
        value = body[match.end() : end]
        if name in ("content", "diff"):
            found.setdefault(name, value.removeprefix("\r").removeprefix("\n"))
        else:
            found.setdefault(name, value.strip())
        position = end + len(closing)
    found.pop("task_progress", None)
    return found
