"""A workspace as data: paths to file contents, packed and unpacked as tar without running anything of it.

Everything in a tar from a container or a repository is hostile: only regular files and relative links that stay in the
tree get through; set-id bits, devices, absolute and climbing names do not.
"""

import hashlib
import io
import posixpath
import tarfile
from collections.abc import Iterator, Mapping
from typing import IO

from pydantic import BaseModel, ConfigDict

from blocks.errors import PermanentError


class TreeUnsafeError(PermanentError):
    """A tree holds a name, link or file kind that may not be carried. Says which."""


class File(BaseModel):
    """A regular file, or a link where `link` is set (then `content` is empty)."""

    model_config = ConfigDict(frozen=True)

    content: bytes = b""
    executable: bool = False
    link: str | None = None


EPOCH = 315619200
"""The one time of packed files: 1980-01-02 UTC, because zip files (wheels) know no earlier one."""

Tree = Mapping[str, File]
"""Relative paths with `/` to files; folders exist through their files."""


def safe_path(path: str) -> str:
    """The path itself, if it may be carried.

    Raises:
        TreeUnsafeError: absolute, empty, climbing, with a NUL, or inside a Git folder.
    """
    parts = path.split("/")
    if not path or path.startswith("/") or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise TreeUnsafeError(f"path {path[:200]!r} is not a plain relative path; the tree is refused")
    if any(part.lower() == ".git" for part in parts):
        raise TreeUnsafeError(f"path {path[:200]!r} lies in a Git folder; the tree is refused")
    return path


def link_stays_inside(path: str, target: str) -> bool:
    """Whether a link at `path` that points to `target` stays in the tree."""
    if not target or target.startswith("/") or "\0" in target:
        return False
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return not (joined == ".." or joined.startswith("../"))


def pack(tree: Tree, *, mtime: int = EPOCH, prefix: str = "", uid: int = 0, gid: int = 0) -> bytes:
    """A tar of the tree: sorted, with one time and owner, so that equal trees give equal bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in sorted(_folders(tree)):
            entry = tarfile.TarInfo(prefix + folder)
            entry.type, entry.mode, entry.mtime, entry.uid, entry.gid = tarfile.DIRTYPE, 0o755, mtime, uid, gid
            archive.addfile(entry)
        for path in sorted(tree):
            file = tree[path]
            entry = tarfile.TarInfo(prefix + safe_path(path))
            entry.mtime, entry.uid, entry.gid = mtime, uid, gid
            if file.link is not None:
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, file.link, 0o777
                archive.addfile(entry)
            else:
                entry.size, entry.mode = len(file.content), 0o755 if file.executable else 0o644
                archive.addfile(entry, io.BytesIO(file.content))
    return buffer.getvalue()


def unpack(
    stream: IO[bytes], *, strip: str = "", drop_unsafe: bool = False, max_bytes: int = 1 << 30
) -> dict[str, File]:
    """Read a tar into a tree.

    Args:
        stream: the tar, read once from start to end.
        strip: leading folder to take off, e.g. `app/`; entries outside it are left out.
        drop_unsafe: leave out what may not be carried (a submission) where True; refuse the whole tree where False.
        max_bytes: most bytes of content.

    Raises:
        TreeUnsafeError: an entry may not be carried and `drop_unsafe` is False, or there are more than `max_bytes`.
    """
    tree: dict[str, File] = {}
    total = 0
    with tarfile.open(fileobj=stream, mode="r|*") as archive:
        for entry in archive:
            name = posixpath.normpath(entry.name.removeprefix("./"))
            if entry.isdir() or not (name + "/").startswith(strip):
                continue
            name = name.removeprefix(strip)
            try:
                path = safe_path(name)
                if entry.issym():
                    tree[path] = File(link=entry.linkname)
                    continue
                if not entry.isreg():
                    raise TreeUnsafeError(f"{path[:200]!r} is not a regular file or a link; the tree is refused")
            except TreeUnsafeError:
                if drop_unsafe:
                    continue
                raise
            total += entry.size
            if total > max_bytes:
                raise TreeUnsafeError(f"the tree holds more than {max_bytes} bytes; the tree is refused")
            reader = archive.extractfile(entry)
            tree[path] = File(content=reader.read() if reader else b"", executable=bool(entry.mode & 0o100))
    unsafe = misplaced(tree)
    if unsafe and not drop_unsafe:
        raise TreeUnsafeError(f"{sorted(unsafe)[0][:200]!r} leaves the tree or lies below a file; the tree is refused")
    return {path: file for path, file in tree.items() if path not in unsafe}


def misplaced(tree: Tree) -> set[str]:
    """Paths that no tree may hold: links that leave it, also by way of other links; whatever lies below a file or link."""
    links = {path: file.link for path, file in tree.items() if file.link is not None}
    below = {path for path in tree if any(parent in tree for parent in _parents(path))}
    return below | {path for path in links if not _resolves_inside(path, links)}


def _resolves_inside(path: str, links: Mapping[str, str]) -> bool:
    """Follow a link as the kernel does, one name at a time; at most 40 links (path_resolution(7)). A loop leads nowhere."""
    if not link_stays_inside(path, links[path]):
        return False
    place: list[str] = []
    names = path.split("/")
    followed = 0
    while names:
        name = names.pop(0)
        if name == "..":
            if not place:
                return False
            place.pop()
        elif name not in ("", "."):
            target = links.get("/".join([*place, name]))
            if target is None:
                place.append(name)
                continue
            followed += 1
            if target.startswith("/") or followed > 40:
                return followed > 40
            names[:0] = target.split("/")
    return True


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def digest(tree: Tree) -> str:
    """sha256 over paths, modes and contents."""
    total = hashlib.sha256()
    for path in sorted(tree):
        file = tree[path]
        kind = "l" if file.link is not None else "x" if file.executable else "f"
        content = file.content if file.link is None else file.link.encode("utf-8", "surrogateescape")
        line = f"{kind} {hashlib.sha256(content).hexdigest()} {path}\0"
        total.update(line.encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def overlay(base: Tree, top: Mapping[str, File | None]) -> dict[str, File]:
    """`base` with the files of `top` written over it; None removes."""
    merged = dict(base)
    for path, file in top.items():
        if file is None:
            merged.pop(path, None)
        else:
            merged[path] = file
    return merged


def _folders(tree: Tree) -> Iterator[str]:
    seen: set[str] = set()
    for path in tree:
        folder = posixpath.dirname(path)
        while folder and folder not in seen:
            seen.add(folder)
            yield folder
            folder = posixpath.dirname(folder)


def unpack_bytes(content: bytes) -> dict[str, File]:
    """Read a tar that `pack` made."""
    return unpack(io.BytesIO(content))
