"""Releases on disk: written beside their place, then moved there, so that a killed write leaves no half release."""

import fcntl
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blocks.errors import PermanentError
from blocks.trees import Tree, safe_path
from tasks.publish.release import Release

VERSION = re.compile(r"\d{4}\.\d{2}\.\d{2}-[0-9a-f]{8}")


def find_release(releases_dir: Path, content_sha256: str) -> str | None:
    """Version of a whole release with this content, the newest where there are several; None where there is none."""
    found = sorted(releases_dir.glob(f"*-{content_sha256[:8]}"), reverse=True)
    return next((folder.name for folder in found if _content_hash(folder) == content_sha256), None)


def place_release(release: Release, releases_dir: Path) -> Path:
    """The folder of this release: an earlier one with the same content where there is one, else written now.

    `latest` points to it afterwards. The version in force is the folder's name.
    """
    version = find_release(releases_dir, release.content_sha256) or release.version
    return write_release(release.tree, releases_dir, version)


def write_release(tree: Tree, releases_dir: Path, version: str) -> Path:
    """Write a release and let `latest` point to it. Writing the same version again only sets the link.

    Args:
        tree: the files; no links.
        releases_dir: made where it is missing.
        version: as `release_version` gives it.

    Returns:
        The folder `<releases_dir>/<version>`.

    Raises:
        PermanentError: the version is none, the tree holds a link, another release of that name is there, or the disk
            refuses.
    """
    if not VERSION.fullmatch(version):
        raise PermanentError(f"{version!r} is not a release version (YYYY.MM.DD-xxxxxxxx)")
    target = releases_dir / version
    with _disk(releases_dir), _one_writer(releases_dir):
        _remove_halves(releases_dir)
        if target.exists():
            _require_same(target, tree)
        else:
            partial = releases_dir / f"{version}.partial"
            _write_tree(tree, partial)
            partial.rename(target)
            _sync(releases_dir)
        _point_latest(releases_dir, version)
    return target


@contextmanager
def _disk(releases_dir: Path) -> Iterator[None]:
    """What the disk says becomes an error that says what to do."""
    try:
        releases_dir.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        mend = "make room there (old releases may go), or correct its permissions, and run again"
        raise PermanentError(
            f"{releases_dir}: a release cannot be written: {error.strerror or error}; {mend}"
        ) from error


def _remove_halves(releases_dir: Path) -> None:
    """What killed writers left: whoever holds the lock is the only writer there is."""
    for half in releases_dir.glob("*.partial"):
        shutil.rmtree(half)
    for link in releases_dir.glob(".latest-*"):
        link.unlink()


@contextmanager
def _one_writer(releases_dir: Path) -> Iterator[None]:
    with (releases_dir / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write_tree(tree: Tree, root: Path) -> None:
    root.mkdir()
    folders = {root}
    for path, file in tree.items():
        if file.link is not None:
            raise PermanentError(f"release file {path[:200]!r} is a link; releases hold files only")
        target = root / safe_path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        folders.update(parent for parent in target.parents if parent.is_relative_to(root))
        with target.open("xb") as stream:
            stream.write(file.content)
            stream.flush()
            os.fsync(stream.fileno())
        target.chmod(0o755 if file.executable else 0o644)
    for folder in folders:
        _sync(folder)


def _require_same(target: Path, tree: Tree) -> None:
    """The card may differ (its numbers go with the day); the content may not."""
    if _content_hash(target) != json.loads(tree["manifest.json"].content)["content_sha256"]:
        raise PermanentError(f"{target} holds another release; move it away and publish again")


def _content_hash(folder: Path) -> str | None:
    if not VERSION.fullmatch(folder.name):
        return None
    try:
        value = json.loads((folder / "manifest.json").read_bytes())["content_sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, str) else None


def _point_latest(releases_dir: Path, version: str) -> None:
    fresh = releases_dir / f".latest-{uuid.uuid4().hex}"
    fresh.symlink_to(version, target_is_directory=True)
    fresh.replace(releases_dir / "latest")
    _sync(releases_dir)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
