"""Brings a submission into the state that is graded: only what it may decide is left of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import tree
from .account import Account, GraderError
from .package_json import MAX_BYTES, merged
from .policy import protected_paths
from .spec import GraderSpec

SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


@dataclass(frozen=True)
class PolicyAction:
    """Something that was changed in the submission. `action` is removed, restored, placed or merged."""

    action: str
    path: str
    why: str


def prepare(spec: GraderSpec, tests: Path, account: Account) -> list[PolicyAction]:
    """Clean, restore, place the hidden tests, hand the rest to the subject.

    What is restored or placed belongs to root, and so do the folders above it, sticky: the subject can write new files
    beside it but can neither change, move nor remove it.

    Raises:
        GraderError: a file of tests/ is not what the spec says.
    """
    root = Path(spec.workspace)
    actions = _clean(root)
    submitted = {path: _readable(root, path) for path in merged_paths(spec)}
    actions += _remove_protected(root, spec)
    placed = {**spec.base, **spec.hidden}
    for path, digest in placed.items():
        folder = "hidden" if path in spec.hidden else "base"
        if folder == "base" and tree.digest_below(root, path) == digest:
            continue
        _place(root, path, tests / folder / path, digest)
        actions.append(PolicyAction("placed" if folder == "hidden" else "restored", path, folder))
    actions += _merge(root, submitted, spec)
    _hand_over(root, account)
    for path in placed:
        guard(root, path, account)
    return actions


def merged_paths(spec: GraderSpec) -> list[str]:
    """Manifests of which a submission decides some fields."""
    if spec.runner != "node":
        return []
    return [path for path in spec.base if path.rpartition("/")[2] == "package.json" and path not in spec.hidden]


def place_again(spec: GraderSpec, tests: Path, account: Account, paths: Iterable[str]) -> None:
    """Lay hidden and base files once more, over what was planted into them."""
    root = Path(spec.workspace)
    for path in paths:
        folder = "hidden" if path in spec.hidden else "base"
        digest = spec.hidden[path] if path in spec.hidden else spec.base[path]
        _place(root, path, tests / folder / path, digest)
        guard(root, path, account)


def changed(spec: GraderSpec, digests: Mapping[str, str] | None = None) -> list[str]:
    """Protected and hidden files that are not as `prepare` left them; `digests`: of those that were changed since."""
    root = Path(spec.workspace)
    placed = {**spec.base, **spec.hidden, **(digests or {})}
    return sorted(path for path, digest in placed.items() if tree.digest_below(root, path) != digest)


def guard(root: Path, path: str, account: Account) -> None:
    """Give a file and all folders above it to root; the subject can read it, and write beside it."""
    target = root / path
    if not target.is_symlink():
        tree.own(target)
        os.chown(target, 0, account.gid)
        target.chmod(0o755 if target.lstat().st_mode & 0o100 else 0o644)
    for folder in (root / path).parents:
        tree.own(folder)
        os.chown(folder, 0, account.gid)
        folder.chmod(0o1775)
        if folder == root:
            break


def _readable(root: Path, path: str) -> bytes | None:
    """A small regular file of the submission, not reached by way of a link; None where there is none."""
    if tree.digest_below(root, path) is None or (root / path).is_symlink():
        return None
    return (root / path).read_bytes() if (root / path).lstat().st_size <= MAX_BYTES else None


def _merge(root: Path, submitted: Mapping[str, bytes | None], spec: GraderSpec) -> list[PolicyAction]:
    actions = []
    for path, theirs in submitted.items():
        base = (root / path).read_bytes()
        content = merged(theirs, base, spec.open_fields)
        if content != base:
            tree.remove(root / path)
            tree.write_new(root / path, content)
            actions.append(PolicyAction("merged", path, "some fields are the submission's"))
    return actions


def _clean(root: Path) -> list[PolicyAction]:
    """Leave regular files, folders and relative links that stay inside; nothing that also has a name elsewhere."""
    actions = []
    files: dict[tuple[int, int], list[str]] = {}
    links: dict[tuple[int, int], int] = {}
    symlinks = []
    for path, info in tree.entries(root):
        why = ""
        if stat.S_ISDIR(info.st_mode):
            why = "too deep" if tree.is_too_deep(path) else ""
        elif stat.S_ISLNK(info.st_mode):
            symlinks.append(path)
        elif stat.S_ISREG(info.st_mode):
            if info.st_nlink > 1:
                files.setdefault((info.st_dev, info.st_ino), []).append(path)
                links[info.st_dev, info.st_ino] = info.st_nlink
        else:
            why = "neither file, folder nor link"
        if why:
            tree.remove(root / path)
            actions.append(PolicyAction("removed", path, why))
    for inode, paths in files.items():
        if len(paths) < links[inode]:
            for path in paths:
                tree.remove(root / path)
                actions.append(PolicyAction("removed", path, "has another name outside the workspace"))
    for path in symlinks:
        if not _stays_inside(root, path):
            tree.remove(root / path)
            actions.append(PolicyAction("removed", path, "a link that leaves the workspace"))
    return actions


def _stays_inside(root: Path, path: str) -> bool:
    target = os.readlink(root / path)  # noqa: PTH115
    if target.startswith("/"):
        return False
    written = os.path.normpath(os.path.join(os.path.dirname(path), target))  # noqa: PTH118, PTH120
    real = os.path.realpath(root / path)
    inside = os.path.realpath(root)
    return written.split("/")[0] != ".." and (real == inside or real.startswith(inside + "/"))


def _remove_protected(root: Path, spec: GraderSpec) -> list[PolicyAction]:
    paths = {path for path, info in tree.entries(root) if not stat.S_ISDIR(info.st_mode)}
    actions = []
    for path in sorted(protected_paths(paths, spec)):
        if path not in spec.base and path not in spec.hidden and tree.remove(root / path):
            actions.append(PolicyAction("removed", path, "protected, and not in base"))
    return actions


def _place(root: Path, path: str, source: Path, digest: str) -> None:
    if tree.digest_of(source) != digest:
        raise GraderError(f"{source} is missing or not what spec.json says; publish the task anew")
    tree.make_folders(root, path.rpartition("/")[0])
    target = root / path
    tree.own(target.parent)
    tree.remove(target)
    if source.is_symlink():
        os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211
    else:
        tree.write_new(target, source.read_bytes(), 0o755 if source.stat().st_mode & 0o100 else 0o644)
    if tree.digest_of(target) != digest:
        raise GraderError(f"{target} did not take the content of {source}; is the disk full?")


def _hand_over(root: Path, account: Account) -> None:
    """Give everything to the subject: it may read and write it, and no special bit is left."""
    for path, info in [("", root.lstat()), *tree.entries(root)]:
        entry = root / path
        if stat.S_ISLNK(info.st_mode):
            os.chown(entry, account.uid, account.gid, follow_symlinks=False)
            continue
        least = 0o700 if stat.S_ISDIR(info.st_mode) else 0o600
        mode = (stat.S_IMODE(info.st_mode) | least) & ~SPECIAL_BITS
        if mode != stat.S_IMODE(info.st_mode):
            os.chown(entry, 0, -1)
            entry.chmod(mode)
        os.chown(entry, account.uid, account.gid)
