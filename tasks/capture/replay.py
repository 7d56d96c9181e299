"""Replay: the workspace as the session's own edits left it, rebuilt from the start tree.

Cline's rule for a SEARCH block: the exact text, else the same lines with white space at their ends ignored; a block that is
found nowhere leaves the whole edit out, as the tool itself did.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from blocks.session import Edit, EditKind
from blocks.trees import File, Tree, TreeUnsafeError, safe_path


@dataclass(frozen=True)
class Replayed:
    """The workspace after the session, and which edits could not be made again."""

    workspace: dict[str, File]
    applied: int
    failed: tuple[str, ...]
    """`step: path: why` of each edit that could not be applied."""


def replay(start: Tree, edits: Iterable[Edit]) -> Replayed:
    """Apply the accepted edits in the order of the session."""
    workspace = dict(start)
    applied, failed = 0, []
    for edit in edits:
        if not edit.accepted:
            continue
        try:
            after = _apply(workspace, edit)
        except (LookupError, TreeUnsafeError) as error:
            failed.append(f"step {edit.step}: {edit.path[:200]}: {error.args[0]}")
            continue
        applied += 1
        if after is None:
            del workspace[edit.path]
        else:
            workspace[edit.path] = after
    return Replayed(workspace, applied, tuple(failed))


def _apply(workspace: Tree, edit: Edit) -> File | None:
    path = safe_path(edit.path)
    before = workspace.get(path)
    if before is not None and before.link is not None:
        raise LookupError("is a link")
    if edit.kind is EditKind.WRITE:
        content = (edit.content or "").encode("utf-8", "surrogateescape")
        return File(content=content, executable=before.executable if before else False)
    if before is None:
        raise LookupError("is not in the workspace")
    if edit.kind is EditKind.DELETE:
        return None
    text = before.content.decode("utf-8", "surrogateescape")
    for block in edit.replacements:
        text = replace_block(text, block.search, block.replace)
    return File(content=text.encode("utf-8", "surrogateescape"), executable=before.executable)


def replace_block(text: str, search: str, replacement: str) -> str:
    """The text with the first occurrence of `search` replaced; an empty `search` replaces an empty file or appends.

    Raises:
        LookupError: found neither exactly nor line by line.
    """
    if not search:
        return replacement if not text else text + replacement
    position = text.find(search)
    if position >= 0:
        return text[:position] + replacement + text[position + len(search) :]
    lines, wanted = text.splitlines(keepends=True), [line.strip() for line in search.splitlines()]
    for first in range(len(lines) - len(wanted) + 1):
        if [line.strip() for line in lines[first : first + len(wanted)]] == wanted:
            return "".join([*lines[:first], replacement, *lines[first + len(wanted) :]])
    raise LookupError("a SEARCH block is not in the file")
