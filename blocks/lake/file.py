"""The embedded store: a folder. Written by any number of processes of one machine at the same time.

A write goes to a temporary file in one folder, is flushed to disk and then renamed over its target (`put`,
`put_if_match`) or linked to it (`put_if_absent`, which fails where something is). What killed writers left in that folder
is removed when a store is opened: at once where the writer is known to be dead, else once it is old.
"""

import errno
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from blocks.errors import PermanentError, TransientError, UsageError
from blocks.lake.store import TEMPORARY, ObjectInfo, ObjectMissingError, checked_key, checked_prefix
from blocks.owner import Owner, signs_dead

_TRANSIENT = {
    errno.EIO,
    errno.EAGAIN,
    errno.EBUSY,
    errno.EMFILE,
    errno.ENFILE,
    errno.ESTALE,
}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_DAY_SEC = 24 * 3600.0


class FileStore:
    """Objects as files below `root`, which is made if it is not there. Needs hard links and flock."""

    def __init__(self, root: Path, *, stale_sec: float = _DAY_SEC) -> None:
        """`stale_sec`: age from which an unfinished file counts as left by a dead writer."""
        self.root = root.absolute()
        self._unfinished = self.root / f"{TEMPORARY}unfinished"
        with _faults(str(self.root)):
            self._unfinished.mkdir(parents=True, exist_ok=True)
            sweep(self._unfinished, stale_sec=stale_sec)

    def uri(self, key: str) -> str:
        """A `file://` address."""
        return self._path(key).as_uri()

    def get(self, key: str) -> bytes:
        """The whole content. Raises ObjectMissingError."""
        path = self._path(key)
        with _faults(key, reading=True):
            return path.read_bytes()

    def download(self, key: str, target: Path) -> None:
        """Copy to a local file, whole or not at all. Raises ObjectMissingError."""
        path = self._path(key)
        with (
            _faults(key, reading=True),
            path.open("rb") as source,
            replaced(target) as temporary,
            temporary.open("wb") as copy,
        ):
            shutil.copyfileobj(source, copy, 1 << 20)

    def head(self, key: str) -> ObjectInfo | None:
        """What is known about the object, or None where there is none."""
        with _faults(key):
            return _info(key, self._path(key))

    def put(self, key: str, content: bytes | Path) -> None:
        """Write or overwrite. A path is streamed."""
        target = self._path(key)
        with _faults(key), self._written(key, content) as temporary, self._lock(fcntl.LOCK_SH):
            _place(target, temporary.replace)

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write only where nothing is. False where something is."""
        target = self._path(key)
        with _faults(key), self._written(key, content) as temporary:
            return _place(target, lambda name: _linked(temporary, name))

    def put_if_match(self, key: str, content: bytes, etag: str) -> bool:
        """Overwrite only the version with this etag. False where it has changed or gone."""
        target = self._path(key)
        if self.head(key) is None:
            return False
        with _faults(key), self._written(key, content) as temporary, self._lock(fcntl.LOCK_EX):
            found = _info(key, target)
            if found is None or found.etag != etag:
                return False
            return _place(target, temporary.replace)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object below the prefix, in order of keys (as UTF-8 bytes)."""
        folder = checked_prefix(prefix).rpartition("/")[0]
        base = f"{folder}/" if folder else ""
        with _faults(prefix):
            yield from self._walk(self.root / folder, base, prefix)

    def delete(self, key: str) -> None:
        """Remove; nothing happens where there is none. Folders left empty go with it."""
        target = self._path(key)
        with _faults(key), self._lock(fcntl.LOCK_SH):
            try:
                target.unlink()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return
            for parent in target.relative_to(self.root).parents[:-1]:
                try:
                    (self.root / parent).rmdir()
                except OSError:
                    return

    def _path(self, key: str) -> Path:
        return self.root / checked_key(key)

    @contextmanager
    def _lock(self, kind: int) -> Iterator[None]:
        """Plain writers share it, put_if_match has it alone: nothing changes between its comparison and its rename."""
        handle = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(handle, kind)
            yield
        finally:
            os.close(handle)

    def _walk(self, folder: Path, base: str, prefix: str) -> Iterator[ObjectInfo]:
        try:
            with os.scandir(folder) as entries:
                names = [(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name) for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in sorted(names, key=os.fsencode):
            if name.startswith(TEMPORARY):
                continue
            key = base + name
            if name.endswith("/"):
                if key.startswith(prefix) or prefix.startswith(key):
                    yield from self._walk(folder / name[:-1], key, prefix)
            elif key.startswith(prefix):
                found = _info(key, folder / name)
                if found is not None:
                    yield found

    @contextmanager
    def _written(self, key: str, content: bytes | Path) -> Iterator[Path]:
        """A temporary file that holds the content and has reached the disk."""
        if isinstance(content, Path) and not content.is_file():
            raise PermanentError(f"{content}: no such file to be stored as {key}")
        self._unfinished.mkdir(parents=True, exist_ok=True)
        with _temporary(self._unfinished) as temporary:
            with temporary.open("xb") as stream:
                if isinstance(content, Path):
                    with content.open("rb") as source:
                        shutil.copyfileobj(source, stream, 1 << 20)
                else:
                    stream.write(content)
                stream.flush()
                # The clock of the file system ticks every few milliseconds; the etag needs a time of its own per write.
                stamp = time.time_ns()
                os.utime(temporary, ns=(stamp, stamp))
                os.fsync(stream.fileno())
            yield temporary


def _place(target: Path, move: Callable[[Path], object]) -> bool:
    """Give a finished file its name; its folder is made again where a concurrent `delete` removes it in between.

    False where `move` says so.
    """
    for _ in range(100):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            moved = move(target)
            _sync_folder(target.parent)
            return moved is not False
        except FileNotFoundError:
            continue
        except FileExistsError:
            # Either the folder went between two calls of mkdir, or one of its parts is a file for good.
            if any(part.is_file() for part in target.parents):
                raise
    raise TransientError(f"{target.parent}: the folder is removed again and again; run again")


def _linked(temporary: Path, target: Path) -> bool:
    try:
        os.link(temporary, target)
    except FileExistsError:
        return False
    return True


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A new name in the folder, which tells its writer. Its file is removed at the end, unless it was renamed away."""
    temporary = folder / f"{TEMPORARY}{Owner.current().signature}-{secrets.token_hex(8)}"
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def sweep(folder: Path, *, stale_sec: float = _DAY_SEC) -> None:
    """Remove the unfinished files of dead writers from a folder, and those that are old."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if not entry.name.startswith(TEMPORARY) or not entry.is_file():
                    continue
                writer = entry.name.removeprefix(TEMPORARY).rpartition("-")[0]
                if time.time() - entry.stat().st_mtime > stale_sec or signs_dead(writer):
                    Path(entry).unlink()
            except FileNotFoundError:
                continue


def _info(key: str, path: Path) -> ObjectInfo | None:
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if path.is_dir():
        return None
    return ObjectInfo(key=key, size_bytes=stat.st_size, etag=f"{stat.st_mtime_ns:x}-{stat.st_ino:x}-{stat.st_size:x}")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """A name beside the target to write to; becomes the target at the end, unless an error ended the block.

    What writers that were killed here left beside it goes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target.parent)
    with _temporary(target.parent) as temporary:
        yield temporary
        temporary.replace(target)


@contextmanager
def _faults(name: str, *, reading: bool = False) -> Iterator[None]:
    """Turn what the file system says into what the protocol says."""
    try:
        yield
    except FileNotFoundError as error:
        raise ObjectMissingError(f"{name}: no such object") from error
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        if reading:
            raise ObjectMissingError(f"{name}: no such object") from error
        raise UsageError(f"{name}: a file and a folder cannot share a name in a file store; use another key") from error
    except OSError as error:
        where = "the folder that ENVMILL_LAKE names (default <home>/lake)"
        mend = f"make room in {where}, and run again" if error.errno in _FULL else f"see {where}"
        message = f"{name}: {error.strerror or error}; {mend}"
        raise (TransientError if error.errno in _TRANSIENT else PermanentError)(message) from error
