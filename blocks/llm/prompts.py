"""Prompts: files in data/prompts. The first line is their version, which goes into the keys of requests and of phases.

version: 3

The text.
"""

import re
from pathlib import Path

from blocks.errors import PermanentError
from blocks.records import Record

FOLDER = Path(__file__).parents[2] / "data" / "prompts"
_HEAD = re.compile(r"\Aversion: (\d+)\n\n")


class Prompt(Record):
    """A prompt, or several in a row."""

    label: str
    """`name@version`, with blanks between several."""
    text: str


def load_prompt(*names: str) -> Prompt:
    """The prompts of these names, one after the other.

    Raises:
        PermanentError: there is none, or it does not begin with its version.
    """
    labels, texts = [], []
    for name in names:
        path = FOLDER / f"{name}.md"
        text = path.read_text() if path.is_file() else ""
        head = _HEAD.match(text)
        if head is None:
            raise PermanentError(f"data/prompts/{name}.md is not there, or does not begin with a line `version: N`")
        labels.append(f"{name}@{head[1]}")
        texts.append(text[head.end() :].strip())
    return Prompt(label=" ".join(labels), text="\n\n".join(texts))
