"""Text that is data: between two marks that it cannot hold, because they are made from its own hash.

The same text gets the same marks, so that a request that is made again is the same request.
"""

import hashlib
import re

from blocks.records import Record

_HIDDEN = re.compile("[\ufe00-\ufe0f\U000e0000-\U000e0fff]")
"""Variation selectors and tag characters: printable to Python, seen by models only."""
_UNSEEN = re.compile(r"[^\n\t\x20-\x7e]")


class Data(Record):
    """Something to weigh, with a title of ours."""

    title: str
    text: str


def fenced(data: Data) -> str:
    """The text between its marks; control characters that could hide something are shown as escapes."""
    text = _plain(data.text)
    mark, turn = _mark(text, 0), 0
    while mark in text:
        turn += 1
        mark = _mark(text, turn)
    return f"<data {mark} title={data.title!r}>\n{text}\n</data {mark}>"


def cut(text: str, most: int) -> str:
    """The text, or its begin and end with a note between them, at most about `most` characters."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}\n[... {len(text) - most} characters left out ...]\n{text[len(text) - (most - head) :]}"


def _mark(text: str, turn: int) -> str:
    return hashlib.sha256(f"{turn}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _plain(text: str) -> str:
    return _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))


def _shown(match: re.Match[str]) -> str:
    char = match[0]
    return char if char.isprintable() and not _HIDDEN.match(char) else f"\\u{{{ord(char):x}}}"
