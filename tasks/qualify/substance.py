"""What a change amounts to: how many lines of source, and whether they mean anything."""

import ast
import re
import warnings

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Record
from blocks.repositories import FileChange, Repository

_VERSION_LINE = re.compile(r"^\s*(?:__version__|version|VERSION|version_info|__version_info__)\b[^=:]{0,20}[=:]")
_MAX_PARSED = 1 << 20


class Substance(Record):
    """Counts over one commit against its first parent."""

    source_files: int
    source_lines: int
    """Changed lines of source, insertions and deletions."""
    all_lines: int
    touches_tests: bool
    formatting_only: bool
    """Every changed source file means the same before and after (for Python: the same syntax tree without docstrings)."""
    version_only: bool
    """Every changed source line assigns a version."""


def read_substance(repository: Repository, sha: str) -> Substance:
    """Read both sides of every changed source file."""
    commit = repository.commit(sha)
    changes = repository.changes(sha)
    source = [change for change in changes if kind_of(change.path) is PathKind.SOURCE]
    edits = repository.edited_lines(sha)
    lines = [
        line
        for change in source
        if change.path in edits
        for hunk in edits[change.path].hunks
        for line in (*hunk.removed, *hunk.added)
    ]
    before = commit.parents[0] if commit.parents else None
    return Substance(
        source_files=len(source),
        source_lines=sum(change.insertions + change.deletions for change in source),
        all_lines=sum(change.insertions + change.deletions for change in changes),
        touches_tests=any(kind_of(change.path) is PathKind.TEST for change in changes),
        formatting_only=bool(source) and all(_same(repository, before, sha, change) for change in source),
        version_only=bool(lines) and all(_VERSION_LINE.match(line) for line in lines if line.strip()),
    )


def _same(repository: Repository, before: str | None, after: str, change: FileChange) -> bool:
    if change.binary or before is None:
        return False
    if change.old_blob == change.new_blob:
        return True
    old, new = repository.read(before, change.path), repository.read(after, change.path)
    if old is None or new is None or max(len(old), len(new)) > _MAX_PARSED:
        return False
    if change.path.endswith((".py", ".pyi")):
        one, other = _meaning(old), _meaning(new)
        return one is not None and one == other
    return b"".join(old.split()) == b"".join(new.split())


def _meaning(source: bytes) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ) and ast.get_docstring(node):
                node.body = node.body[1:]
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
