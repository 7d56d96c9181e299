"""Whether what a model is shown talks to a judge, in whatever form it is shown: inside JSON, behind the id of a commit, the
number of a line or the mark of a patch, or with its hidden characters written out.
"""

import json
import re
from collections.abc import Iterator

from blocks.session import Session
from tasks.qualify.steering import steers

_PREFIX = re.compile(
    r"^(?:[0-9a-f]{7,40}[ \t]+|\d{4}-\d\d-\d\d[ \t]+|[^\s:]{1,300}:\d{1,7}:[ \t]?|[ \t]*\d{1,7}[:|\t][ \t]?|[MADRT][ \t]+"
    r"|[+\-> ][ \t]*)+",
    re.MULTILINE,
)
"""What tools put before a line: `<sha> <date> `, `<path>:<number>:`, `<number>: `, the status of a file, a patch's sign."""
_ESCAPED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")
"""As blocks/llm/fence.py shows characters that nobody would see."""


def is_steered(session: Session, evidence: str, results: list[str]) -> bool:
    """Whether anything of it talks to a judge.

    Args:
        session: its steps, their calls and what they were shown.
        evidence: the collector's document, JSON.
        results: what the model's tools gave back.
    """
    return any(map(_steers, _texts(session, evidence, results)))


def _texts(session: Session, evidence: str, results: list[str]) -> Iterator[str]:
    yield from _strings(evidence)
    for step in session.steps:
        yield step.text
        for call in step.tool_calls:
            yield from _strings(call.arguments)
        yield from (shown.content for shown in step.observations)
    for result in results:
        yield _ESCAPED.sub(lambda match: _char(match[1]), result)


def _steers(text: str) -> bool:
    return steers(text) or steers(_PREFIX.sub("", text))


def _strings(document: str) -> Iterator[str]:
    """The document as it stands, and every name and text in it, decoded."""
    yield document
    try:
        left = [json.loads(document)]
    except (ValueError, RecursionError):
        return
    while left:
        found = left.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, list):
            left += found
        elif isinstance(found, dict):
            left += [*found, *found.values()]


def _char(digits: str) -> str:
    number = int(digits, 16)
    return chr(number) if number <= 0x10FFFF else ""
