"""One commit's files as a tree, every content checked against the id that the commit gives it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from blocks.records import Record
from blocks.repositories.git import GitError, ObjectsMissingError, run_git
from blocks.repositories.records import EXECUTABLE_MODE, LINK_MODE, SUBMODULE_MODE, TreeEntry
from blocks.trees import File, TreeUnsafeError, link_stays_inside, safe_path

LFS_MARK = b"version https://git-lfs.github.com/spec/"
_REGULAR_MODES = frozenset({"100644", "100664", EXECUTABLE_MODE})
_EXPORT_TIMEOUT_SEC = 300.0


class Snapshot(Record):
    """A commit's tree, and what of it is not there."""

    tree: dict[str, File]
    submodules: tuple[str, ...]
    """Paths of submodules; they are left out of the tree."""
    lfs_pointers: tuple[str, ...]
    """Paths whose content is a Git LFS pointer; the pointer is what the tree holds."""


def take(git_dir: Path, entries: Sequence[TreeEntry], what: str, max_bytes: int) -> Snapshot:
    """Read the entries' contents.

    Raises:
        TreeUnsafeError: a name, link or mode that may not be carried, or more than `max_bytes`.
        ObjectsMissingError: contents that the mirror lacks; names the paths.
        GitError: a content does not hash to its id.
    """
    files = [entry for entry in entries if entry.mode != SUBMODULE_MODE]
    _check_names(files, what)
    missing = [entry.path for entry in files if entry.size is None]
    if missing:
        shown = ", ".join(repr(path) for path in missing[:10])
        raise ObjectsMissingError(
            f"{what}: the mirror lacks the contents of {len(missing)} files ({shown}); give a whole mirror in `mirrors`"
        )
    total = sum(entry.size or 0 for entry in files)
    if total > max_bytes:
        raise TreeUnsafeError(f"{what}: its files have {total} bytes, more than {max_bytes}; the tree is refused")
    contents = read_blobs(git_dir, sorted({entry.blob for entry in files}), max_bytes)
    tree = {entry.path: _file(entry, contents[entry.blob], what) for entry in files}
    return Snapshot(
        tree=tree,
        submodules=tuple(entry.path for entry in entries if entry.mode == SUBMODULE_MODE),
        lfs_pointers=tuple(path for path, file in tree.items() if file.content.startswith(LFS_MARK)),
    )


def read_blobs(git_dir: Path, ids: Sequence[str], max_bytes: int) -> dict[str, bytes]:
    """Contents by blob id, each checked against its id.

    Raises:
        ObjectsMissingError: the mirror lacks one.
        GitError: a content does not hash to its id.
    """
    asked = "".join(f"{name}\n" for name in ids).encode()
    result = run_git(
        ["cat-file", "--batch"],
        git_dir=git_dir,
        stdin=asked,
        timeout_sec=_EXPORT_TIMEOUT_SEC,
        max_output_bytes=max_bytes + 128 * len(ids) + 128,
    )
    output = memoryview(result.output)
    contents: dict[str, bytes] = {}
    position = 0
    for name in ids:
        end = result.output.find(b"\n", position)
        header = result.output[position:end].split(b" ")
        if len(header) != 3 or header[1] != b"blob":
            raise ObjectsMissingError(f"blob {name}: the mirror lacks it, or it is no file ({result.errors[-200:]})")
        size = int(header[2])
        content = bytes(output[end + 1 : end + 1 + size])
        position = end + 2 + size
        if blob_id(content) != name:
            raise GitError(f"blob {name}: its content does not hash to its id; the mirror is damaged, remove it")
        contents[name] = content
    return contents


def blob_id(content: bytes) -> str:
    """The id Git gives to a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _check_names(files: Sequence[TreeEntry], what: str) -> None:
    paths = {entry.path for entry in files}
    if len(paths) != len(files):
        raise TreeUnsafeError(f"{what}: one name stands for several files; the tree is refused")
    for entry in files:
        if not entry.readable_name:
            raise TreeUnsafeError(f"{what}: the name {entry.path[:200]!r} is not UTF-8; the tree is refused")
        parts = safe_path(entry.path).split("/")
        if any("/".join(parts[:depth]) in paths for depth in range(1, len(parts))):
            raise TreeUnsafeError(f"{what}: {entry.path[:200]!r} lies below a file; the tree is refused")


def _file(entry: TreeEntry, content: bytes, what: str) -> File:
    if entry.mode == LINK_MODE:
        target = content.decode("utf-8", "replace")
        if not link_stays_inside(entry.path, target):
            raise TreeUnsafeError(f"{what}: the link {entry.path[:200]!r} leaves the tree; the tree is refused")
        return File(link=target)
    if entry.mode not in _REGULAR_MODES:
        raise TreeUnsafeError(f"{what}: {entry.path[:200]!r} has mode {entry.mode}; the tree is refused")
    return File(content=content, executable=entry.mode == EXECUTABLE_MODE)
