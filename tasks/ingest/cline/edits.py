"""What a tool call does to files: whole writes, SEARCH/REPLACE blocks in both grammars, and `apply_patch`."""

import re
from collections.abc import Mapping

from blocks.records import Record
from blocks.session import EditKind, Replacement

_SEARCH = re.compile(r"^(?:-{3,}|<{3,}) SEARCH>?$")
_DIVIDER = re.compile(r"^={3,}$")
_REPLACE = re.compile(r"^(?:\+{3,}|>{3,}) REPLACE>?$")
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Delete|Update) File: (.+)$")


class FileChange(Record):
    """One file changed by one call; `path` is as the call says it."""

    kind: EditKind
    path: str
    content: str | None = None
    replacements: tuple[Replacement, ...] = ()


def changes_of(name: str, arguments: Mapping[str, object]) -> tuple[FileChange, ...]:
    """The changes a call asks for; empty for calls that edit nothing or are malformed."""
    path = _text(arguments, "path") or _text(arguments, "absolutePath")
    if name in ("write_to_file", "new_file") and path and isinstance(arguments.get("content"), str):
        return (FileChange(kind=EditKind.WRITE, path=path, content=_text(arguments, "content")),)
    if name == "replace_in_file" and path:
        return _replacing(path, parse_diff(_text(arguments, "diff")))
    if name == "apply_patch":
        return parse_patch(_text(arguments, "input"))
    return ()


def parse_diff(diff: str) -> tuple[Replacement, ...]:
    """The complete SEARCH/REPLACE blocks, in order. Sides keep their line ends; a block that does not end is dropped."""
    blocks: list[Replacement] = []
    search: list[str] | None = None
    replace: list[str] | None = None
    for line in diff.splitlines(keepends=True):
        mark = line.rstrip("\r\n")
        if search is None and _SEARCH.match(mark):
            search = []
        elif search is not None and replace is None and _DIVIDER.match(mark):
            replace = []
        elif search is not None and replace is not None and _REPLACE.match(mark):
            blocks.append(Replacement(search="".join(search), replace="".join(replace)))
            search = replace = None
        elif replace is not None:
            replace.append(line)
        elif search is not None:
            search.append(line)
    return tuple(blocks)


def parse_patch(patch: str) -> tuple[FileChange, ...]:
    """The changes of an `apply_patch` envelope. Each hunk of an update becomes one replacement."""
    changes: list[FileChange] = []
    kind, path, body = "", "", list[str]()
    for line in [*patch.split("\n"), "*** End Patch"]:
        match = _PATCH_FILE.match(line)
        if not match and line.strip() != "*** End Patch":
            body.append(line)
            continue
        if path:
            changes.extend(_patched(kind, path, body))
        kind, path, body = (match[1], match[2].strip(), []) if match else ("", "", [])
    return tuple(changes)


def _patched(kind: str, path: str, body: list[str]) -> tuple[FileChange, ...]:
    if kind == "Delete":
        return (FileChange(kind=EditKind.DELETE, path=path),)
    if kind == "Add":
        content = "".join(line[1:] + "\n" for line in body if line.startswith("+"))
        return (FileChange(kind=EditKind.WRITE, path=path, content=content),)
    hunks: list[list[str]] = [[]]
    for line in body:
        if line.startswith("@@"):
            hunks.append([])
        elif line[:1] in ("+", "-", " ", ""):
            hunks[-1].append(line or " ")
    sides = [
        Replacement(
            search="".join(line[1:] + "\n" for line in hunk if line[0] in "- "),
            replace="".join(line[1:] + "\n" for line in hunk if line[0] in "+ "),
        )
        for hunk in hunks
        if hunk
    ]
    return _replacing(path, tuple(sides))


def _replacing(path: str, blocks: tuple[Replacement, ...]) -> tuple[FileChange, ...]:
    if not blocks:
        return ()
    if blocks[0].search == "":
        return (FileChange(kind=EditKind.WRITE, path=path, content=blocks[0].replace),)
    return (FileChange(kind=EditKind.REPLACE, path=path, replacements=blocks),)


def _text(arguments: Mapping[str, object], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""
