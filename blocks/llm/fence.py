"""Text that is data: between two marks that it cannot hold, because they are made from its own hash.

The same text gets the same marks, so that a request that is made again is the same request.
"""

import hashlib

from blocks.records import Record


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
    return "".join(
        char if char in "\n\t" or (char.isprintable() and not _hidden(char)) else f"\\u{{{ord(char):x}}}"
        for char in text.replace("\r\n", "\n")
    )


def _hidden(char: str) -> bool:
    """Tag characters and variation selectors: printable to Python, seen by models only."""
    return "\U000e0000" <= char <= "\U000e0fff" or "\ufe00" <= char <= "\ufe0f"
