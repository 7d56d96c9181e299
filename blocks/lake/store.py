"""What an object store must do. Keys are relative, with `/`, without `..`; both forms refuse others (UsageError)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from blocks.errors import PermanentError, UsageError
from blocks.records import Record

TEMPORARY = ".~"
"""Names that begin with this are files a writer has not finished; no key may hold one."""

MAX_KEY_BYTES = 1000
MAX_NAME_BYTES = 200
"""Of one part between slashes; leaves room for what a temporary name adds within the 255 of a file system."""


class ObjectMissingError(PermanentError):
    """No object has this key."""


class ObjectInfo(Record):
    """What the store knows about an object. `etag` changes whenever the content does."""

    key: str
    size_bytes: int
    etag: str


class ObjectStore(Protocol):
    """Objects by key. Every write is atomic: a reader sees the old content or the new one, never a part.

    Faults of the network or of the store are raised as TransientError; refused credentials or a missing bucket as
    PermanentError that names the setting to mend.
    """

    def uri(self, key: str) -> str:
        """The address people and catalogs use for this object."""
        ...

    def get(self, key: str) -> bytes:
        """The whole content. Raises ObjectMissingError."""
        ...

    def download(self, key: str, target: Path) -> None:
        """Write the content to a local file, streaming. Raises ObjectMissingError."""
        ...

    def head(self, key: str) -> ObjectInfo | None:
        """What is known about the object, or None where there is none."""
        ...

    def put(self, key: str, content: bytes | Path) -> None:
        """Write or overwrite. A path is streamed."""
        ...

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write only where nothing is (If-None-Match: *). False where something is."""
        ...

    def put_if_match(self, key: str, content: bytes, etag: str) -> bool:
        """Overwrite only the version with this etag (If-Match). False where it has changed or gone."""
        ...

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object below the prefix, in order of keys. A prefix that ends in `/` is a folder."""
        ...

    def delete(self, key: str) -> None:
        """Remove; nothing happens where there is none."""
        ...


def checked_key(key: str) -> str:
    """The key itself, if both forms of the store can hold it.

    Raises:
        UsageError: empty, absolute, too long, with an empty, `.` or `..` part, with a control character, a backslash or
            a lone surrogate, or with a part that begins with `.~`.
    """
    parts = key.split("/")
    if (
        any(part in ("", ".", "..") or part.startswith(TEMPORARY) for part in parts)
        or any(ord(char) < 0x20 or char in "\x7f\\" or "\ud800" <= char <= "\udfff" for char in key)
        or len(key.encode()) > MAX_KEY_BYTES
        or any(len(part.encode()) > MAX_NAME_BYTES for part in parts)
    ):
        raise UsageError(
            f"object key {key[:200]!r} is not valid; use relative names with `/`, see blocks/lake/store.py"
        )
    return key


def checked_prefix(prefix: str) -> str:
    """The prefix itself, if keys may begin with it; empty is every key.

    Raises:
        UsageError: as `checked_key`.
    """
    if prefix:
        checked_key(prefix.removesuffix("/"))
    return prefix
