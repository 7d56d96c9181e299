"""Replay: the workspace as the session's own edits left it, rebuilt from the start tree.

An edit with a SEARCH block that is found nowhere is left out whole, as the tool itself did.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from blocks.session import Edit, EditKind
from blocks.trees import File, Tree, TreeUnsafeError, safe_path
from tasks.capture.search_replace import apply_blocks


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
    _check_place(workspace, path)
    before = workspace.get(path)
    if before is not None and before.link is not None:
        raise LookupError("is a link")
    if edit.kind is EditKind.WRITE:
        return File(content=_encoded(edit.content or ""), executable=before.executable if before else False)
    if before is None:
        raise LookupError("is not in the workspace")
    if edit.kind is EditKind.DELETE:
        return None
    text = apply_blocks(before.content.decode("utf-8", "surrogateescape"), edit.replacements)
    return File(content=_encoded(text), executable=before.executable)


def _encoded(text: str) -> bytes:
    """Undoes `surrogateescape`; other lone surrogates, which JSON can hold and UTF-8 cannot, become U+FFFD as in Node."""
    return re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text).encode("utf-8", "surrogateescape")


def _check_place(workspace: Tree, path: str) -> None:
    """A file can lie neither below a file or a link nor where a folder is."""
    parts = path.split("/")
    if any("/".join(parts[:depth]) in workspace for depth in range(1, len(parts))):
        raise LookupError("lies below a file or a link")
    if any(other.startswith(f"{path}/") for other in workspace):
        raise LookupError("is a folder")
