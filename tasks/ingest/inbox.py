"""The inbox: each direct sub-folder is one contribution. Its id is a hash of its content, so that names do not matter."""

import hashlib
from pathlib import Path

from blocks.errors import PermanentError, UsageError
from blocks.lake import ObjectStore
from blocks.records import Record
from blocks.trees import TreeUnsafeError, safe_path
from tasks.ingest.raw import clean


class InboxItem(Record):
    """One contribution as it lies in the inbox."""

    folder: Path
    name: str
    contribution_id: str
    content_hash: str
    """sha256 over the names and contents of its files."""


def find_contributions(inbox: Path) -> list[InboxItem]:
    """The contributions of an inbox folder, by name. Hidden folders, links and loose files are left alone.

    Raises:
        UsageError: the inbox is no folder.
    """
    return [read_item(path) for path in find_folders(inbox)]


def find_folders(inbox: Path) -> list[Path]:
    """Folders of the contributions of an inbox, by name; nothing of them is read.

    Raises:
        UsageError: the inbox is no folder.
    """
    if not inbox.is_dir():
        raise UsageError(f"inbox {inbox} is not a folder; create it or set ENVMILL_INBOX")
    folders = (path for path in sorted(inbox.iterdir()) if not path.name.startswith("."))
    return [path for path in folders if path.is_dir() and not path.is_symlink()]


def read_item(folder: Path) -> InboxItem:
    """One contribution. A file that cannot be read counts by its name only; ingesting it then says so."""
    digest = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    for path in files:
        digest.update(f"{path.relative_to(folder).as_posix()}\0{_file_hash(path)}\n".encode("utf-8", "surrogateescape"))
    if not files:
        digest.update(folder.name.encode("utf-8", "surrogateescape"))
    content_hash = digest.hexdigest()
    return InboxItem(
        folder=folder, name=clean(folder.name), contribution_id=f"x-{content_hash[:16]}", content_hash=content_hash
    )


def download_item(store: ObjectStore, name: str, target: Path) -> Path:
    """Copy one contribution of an inbox that lies in an object store into `target` and return its folder.

    Raises:
        PermanentError: a key is no plain relative path.
    """
    for entry in store.list(f"{name}/"):
        try:
            path = target / safe_path(entry.key)
        except TreeUnsafeError as error:
            raise PermanentError(f"inbox {store.uri('')}: {error}") from None
        path.parent.mkdir(parents=True, exist_ok=True)
        store.download(entry.key, path)
    return target / name


def _file_hash(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return "not a file"
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "unreadable"
