"""Reading git's diff output: the NUL-separated list of changed paths, and unified patches."""

import re
from collections.abc import Iterator

from blocks.repositories.git import GitError
from blocks.repositories.records import ChangeStatus, FileChange, Hunk, LineEdits

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def shown(name: bytes) -> str:
    """A path as text; bytes that are no UTF-8 become hex escapes."""
    return name.decode("utf-8", "backslashreplace")


def parse_changes(output: bytes) -> dict[str, tuple[FileChange, ...]]:
    """Parse `diff-tree -z --raw --numstat`, which may hold several commits, each introduced by its id.

    Returns:
        Changes by commit id; those before any id stand under the empty text.
    """
    found: dict[str, tuple[FileChange, ...]] = {}
    tokens = output.split(b"\0")
    position, commit = 0, ""
    raw: list[tuple[bytes, list[bytes]]] = []
    counts: dict[bytes, tuple[bytes, bytes]] = {}

    def close() -> None:
        if commit or raw:
            found[commit] = tuple(_change(path, fields, counts.get(path)) for path, fields in raw)

    while position < len(tokens):
        token = tokens[position]
        position += 1
        if token.startswith(b":"):
            raw.append((tokens[position], token[1:].split(b" ")))
            position += 1
        elif token.count(b"\t") >= 2:
            insertions, deletions, path = token.split(b"\t", 2)
            counts[path] = (insertions, deletions)
        elif token:
            close()
            commit, raw, counts = token.decode("ascii"), [], {}
    close()
    return found


def _change(path: bytes, fields: list[bytes], count: tuple[bytes, bytes] | None) -> FileChange:
    if len(fields) != 5:
        raise GitError(f"git diff-tree: {path[:100]!r} has an entry that cannot be read")
    binary = count is None or count[0] == b"-"
    return FileChange(
        path=shown(path),
        status=ChangeStatus(fields[4][:1].decode("ascii")),
        insertions=0 if binary or count is None else int(count[0]),
        deletions=0 if binary or count is None else int(count[1]),
        binary=binary,
        old_mode=fields[0].decode("ascii"),
        new_mode=fields[1].decode("ascii"),
        old_blob=fields[2].decode("ascii"),
        new_blob=fields[3].decode("ascii"),
    )


def parse_patch(patch: bytes) -> dict[str, LineEdits]:
    """The hunks of a patch made with `--unified=0` and the prefixes `a/` and `b/`, by path.

    Lines are taken by the counts of the hunk header, so that content which looks like a header changes nothing.
    """
    hunks: dict[str, list[Hunk]] = {}
    lines = iter(patch.split(b"\n"))
    old = new = b""
    for line in lines:
        if line.startswith(b"--- "):
            old = _name(line[4:])
        elif line.startswith(b"+++ "):
            new = _name(line[4:])
        elif match := _HUNK.match(line):
            name = new if new != b"/dev/null" else old
            hunks.setdefault(shown(name[2:]), []).append(_hunk(match, lines))
    return {path: LineEdits(path=path, hunks=tuple(found)) for path, found in hunks.items()}


def _hunk(match: "re.Match[bytes]", lines: Iterator[bytes]) -> Hunk:
    removed_left, added_left = (int(count) if count is not None else 1 for count in match.group(2, 4))
    removed: list[str] = []
    added: list[str] = []
    while removed_left or added_left:
        line = next(lines, None)
        if line is None:
            raise GitError("git diff: a hunk ends too early")
        if line.startswith(b"-"):
            removed.append(shown(line[1:]))
            removed_left -= 1
        elif line.startswith(b"+"):
            added.append(shown(line[1:]))
            added_left -= 1
        elif not line.startswith(b"\\"):
            raise GitError("git diff: a hunk holds a line that is neither added nor removed")
    return Hunk(
        old_start=int(match[1]),
        new_start=int(match[3]),
        heading=shown(match[5]),
        removed=tuple(removed),
        added=tuple(added),
    )


def _name(field: bytes) -> bytes:
    if field.startswith(b'"'):
        return _ESCAPE.sub(_unescape, field.rstrip(b"\t")[1:-1])
    return field.removesuffix(b"\t")


def _unescape(match: "re.Match[bytes]") -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _ESCAPED.get(code, code)
