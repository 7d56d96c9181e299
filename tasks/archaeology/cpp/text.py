"""The texts of a tree, and which of them are the project's own."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from blocks.trees import Tree

MAX_BYTES = 1 << 20
FOREIGN = re.compile(
    r"(^|/)(third[_-]?party|3rd[_-]?party|vendor(ed)?|extern(al)?s?|contrib|subprojects|deps|examples?|docs?|fuzz\w*|bench\w*"
    r"|bindings?|node_modules)/",
    re.I,
)
"""Folders of code that others wrote, or that no test needs."""

CODE = re.compile(r"\.(c|cc|cpp|cxx|c\+\+|h|hh|hpp|hxx|inl|ipp)$", re.I)


def texts(tree: Tree, pattern: str, *, foreign: bool = False) -> Iterator[tuple[str, str]]:
    """Paths whose name fits the pattern, with their text, sorted; what lies in foreign folders only where asked for."""
    wanted = re.compile(pattern)
    for path in sorted(tree):
        file = tree[path]
        if not wanted.search(PurePosixPath(path).name) or (FOREIGN.search(path) and not foreign):
            continue
        if file.link is None and len(file.content) <= MAX_BYTES:
            yield path, file.content.decode("utf-8", "replace")


def without_comments(text: str) -> str:
    """A text of CMake, Meson, make or shell without `#` comments."""
    return re.sub(r"(?m)(^|\s)#.*$", r"\1", text)
