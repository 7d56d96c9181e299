"""Files of a workspace that someone hostile has laid out. Nothing here follows a link, and nothing recurses.

The rights are those of the grader's container: root with CHOWN and DAC_OVERRIDE but without FOWNER, so that a mode or
an entry of a sticky folder can only be changed after taking over its owner. No process of the subject is running while
any of this works.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

MAX_DEPTH = 64
MAX_PATH_BYTES = 1024


def entries(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below `root` with its lstat, folders before what is in them; sorted within a folder.

    Folders deeper than MAX_DEPTH, or with longer paths than MAX_PATH_BYTES, are given but not entered.
    """
    pending = [""]
    while pending:
        folder = pending.pop()
        own(root / folder)
        for name in sorted(os.listdir(root / folder)):  # noqa: PTH208
            path = f"{folder}/{name}" if folder else name
            info = (root / path).lstat()
            yield path, info
            if stat.S_ISDIR(info.st_mode) and not is_too_deep(path) and is_folder(root / path):
                pending.append(path)


def is_too_deep(path: str) -> bool:
    """Whether a folder at `path` is not entered."""
    return path.count("/") >= MAX_DEPTH or len(os.fsencode(path)) > MAX_PATH_BYTES


def is_folder(path: Path) -> bool:
    """A folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def own(path: Path) -> None:
    """Take a folder over and make it enterable, so that its entries can be changed."""
    info = path.lstat()
    if os.geteuid() == 0 and info.st_uid != 0:
        os.chown(path, 0, -1, follow_symlinks=False)
    if stat.S_ISDIR(info.st_mode) and (info.st_mode & 0o700) != 0o700:
        path.chmod(stat.S_IMODE(info.st_mode) | 0o700)


def remove(path: Path) -> bool:
    """Remove whatever lies at `path`; False when nothing does.

    Folders are emptied level by level: a folder in it is first moved up, so that no depth can exceed what a path name
    or a stack can hold.
    """
    try:
        info = path.lstat()
    except OSError:
        return False
    own(path.parent)
    if not stat.S_ISDIR(info.st_mode):
        path.unlink()
        return True
    pending = [path]
    while pending:
        folder = pending.pop()
        own(folder)
        for name in os.listdir(folder):  # noqa: PTH208
            entry = folder / name
            if is_folder(entry):
                own(entry)
                lifted = path.parent / f".gone-{secrets.token_hex(8)}"
                entry.rename(lifted)
                pending.append(lifted)
            else:
                entry.unlink()
        folder.rmdir()
    return True


def make_folders(root: Path, path: str) -> None:
    """Make `path` a folder below `root`, replacing whatever on the way to it is none."""
    here = root
    for part in path.split("/") if path else ():
        here = here / part
        if not is_folder(here):
            remove(here)
            own(here.parent)
            here.mkdir(mode=0o755)


def write_new(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file that must not be there yet.

    Raises:
        FileExistsError: something lies there.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)


def digest_below(root: Path, path: str) -> str | None:
    """digest_of a file below `root`; None also where a folder on the way to it is none, but a link to one."""
    folders = list((root / path).parents)
    if not all(is_folder(folder) for folder in folders[: folders.index(root) + 1]):
        return None
    return digest_of(root / path)


def digest_of(path: Path) -> str | None:
    """sha256 of a regular file's content, or of a link's target; None for anything else and where nothing is."""
    try:
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            return hashlib.sha256(os.fsencode(os.readlink(path))).hexdigest()  # noqa: PTH115
        if not stat.S_ISREG(info.st_mode):
            return None
        total = hashlib.sha256()
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                total.update(chunk)
        return total.hexdigest()
    except OSError:
        return None
