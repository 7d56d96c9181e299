"""What a change amounts to: how many lines of source, and whether they mean anything."""

import ast
import re
import warnings

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Record
from blocks.repositories import FileChange, Repository

_VERSION_LINE = re.compile(r"^\s*(?:__version__|version|VERSION|version_info|__version_info__)\b[^=:]{0,20}[=:]")
_NO_CODE = re.compile(r"^\s*(?:#(?!include|define|if|el|endif|undef|pragma)|//|/\*|\*(?:\s|/|$)|<!--|;;|--\s|$)")
_LOCK = re.compile(r"\.(lock|lockb|snap)$|(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml)$")
_MAX_PARSED = 1 << 20


class Substance(Record):
    """Counts over one commit against its first parent."""

    source_files: int
    source_lines: int
    """Changed lines of source, insertions and deletions."""
    code_lines: int
    """Those that are neither blank nor a comment."""
    all_lines: int
    made_lines: int
    """Changed lines of generated or vendored files, lock files left out."""
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
        code_lines=sum(not _NO_CODE.match(line) for line in lines),
        all_lines=sum(change.insertions + change.deletions for change in changes),
        made_lines=sum(
            change.insertions + change.deletions
            for change in changes
            if kind_of(change.path) is PathKind.GENERATED and not _LOCK.search(change.path)
        ),
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


class _Interpolation(ast.NodeTransformer):
    """`"{} is {}".format(a, b)` and `"%s is %s" % (a, b)` mean what `f"{a} is {b}"` means."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite a plain `.format` with positional fields."""
        self.generic_visit(node)
        made = None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format" and not node.keywords:
            made = _interpolated(node.func.value, node.args, re.compile(r"\{(\d*)\}"), "{")
        return made or node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Rewrite a plain `%s` interpolation."""
        self.generic_visit(node)
        made = None
        if isinstance(node.op, ast.Mod):
            values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            made = _interpolated(node.left, values, re.compile(r"%s()"), "%")
        return made or node


def _interpolated(
    template: ast.expr, values: list[ast.expr], field: re.Pattern[str], mark: str
) -> ast.JoinedStr | None:
    if not (isinstance(template, ast.Constant) and isinstance(template.value, str)):
        return None
    pieces = field.split(template.value)
    texts, numbers = pieces[::2], pieces[1::2]
    if any(mark in text or "}" in text for text in texts) or len(numbers) > len(values):
        return None
    parts: list[ast.expr] = []
    for position, text in enumerate(texts):
        if text:
            parts.append(ast.Constant(value=text))
        if position < len(numbers):
            index = int(numbers[position] or position)
            if index >= len(values):
                return None
            parts.append(ast.FormattedValue(value=values[index], conversion=-1))
    return ast.JoinedStr(values=parts)


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
        tree = _Interpolation().visit(tree)
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
