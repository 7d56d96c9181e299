"""Hunk drop: the solution without any one of its hunks. A verifier that does not notice does not test that hunk."""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from blocks.trees import File, Tree

_JOIN = 3
"""Changes this close to each other are one hunk, as in a unified diff."""


@dataclass(frozen=True)
class Hunk:
    """One hunk of one file, and the file without it. A file the solution adds or deletes is one hunk."""

    path: str
    line: int
    """First line of the hunk in the solution's file, from 1."""
    without: File | None
    """The file as it is when only this hunk is taken back; None: the file is absent."""
    required: bool
    """False where the syntax tree, docstrings left out, is the same with and without: comments, layout, docstrings."""

    @property
    def name(self) -> str:
        """`path:line`."""
        return f"{self.path}:{self.line}"


def hunks(start: Tree, solution: Tree, paths: tuple[str, ...]) -> list[Hunk]:
    """Every hunk of the given paths, in order."""
    return [hunk for path in sorted(paths) for hunk in _file_hunks(path, start.get(path), solution.get(path))]


def _file_hunks(path: str, before: File | None, after: File | None) -> Iterator[Hunk]:
    if before == after:
        return
    if before is None or after is None or before.link is not None or after.link is not None or _binary(before, after):
        yield Hunk(path, 1, before, required=True)
        return
    old, new = _lines(before), _lines(after)
    groups = _groups(old, new)
    if not groups:
        yield Hunk(path, 1, before, required=True)
    for low, high, old_low, old_high in groups:
        content = "".join([*new[:low], *old[old_low:old_high], *new[high:]]).encode("utf-8", "surrogateescape")
        without = File(content=content, executable=after.executable)
        yield Hunk(path, low + 1, without, required=_differs(path, without, after))


def _groups(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """Ranges (new low, new high, old low, old high) of the hunks."""
    found: list[tuple[int, int, int, int]] = []
    for tag, old_low, old_high, low, high in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if found and low - found[-1][1] <= _JOIN and old_low - found[-1][3] <= _JOIN:
            found[-1] = (found[-1][0], high, found[-1][2], old_high)
        else:
            found.append((low, high, old_low, old_high))
    return found


def _differs(path: str, one: File, other: File) -> bool:
    if not path.endswith(".py"):
        return True
    try:
        return _shape(one) != _shape(other)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def _shape(file: File) -> str:
    module = ast.parse(file.content)
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return ast.dump(module)


def _lines(file: File) -> list[str]:
    return file.content.decode("utf-8", "surrogateescape").splitlines(keepends=True)


def _binary(*files: File) -> bool:
    return any(b"\0" in file.content[:8192] for file in files)
