"""Files in and out of a container as tar, through the engine: nothing in the container runs for it."""

import io
import posixpath
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from docker import APIClient
from docker.errors import NotFound

from blocks.engine.faults import engine_faults
from blocks.engine.raw import has_path
from blocks.engine.stream import as_file
from blocks.errors import PermanentError
from blocks.trees import File, Tree, pack, unpack

_CHUNK = 1 << 18


def exists(api: APIClient, container_id: str, path: str) -> bool:
    """Whether the container has this path."""
    with engine_faults(f"looking for {path}"):
        return has_path(api, container_id, path)


def put_archive(api: APIClient, container_id: str, tar: bytes | Path | BinaryIO, dest: str) -> None:
    """Unpack a tar at `dest`, which must exist. Owners and modes are the tar's."""
    with engine_faults(f"copying into {dest}"):
        if isinstance(tar, Path):
            with tar.open("rb") as stream:
                api.put_archive(container_id, dest, stream)
        else:
            api.put_archive(container_id, dest, tar)


def put_tree(api: APIClient, container_id: str, tree: Tree, dest: str, uid: int, gid: int) -> None:
    """Write a tree at `dest`. Folders that are missing on the way there are made and belong to the same owner."""
    top, missing = _deepest_existing(api, container_id, posixpath.normpath(dest))
    folders = io.BytesIO()
    with tarfile.open(fileobj=folders, mode="w") as archive:
        for depth in range(len(missing)):
            entry = tarfile.TarInfo("/".join(missing[: depth + 1]))
            entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, 0o755, uid, gid
            archive.addfile(entry)
    if missing:
        put_archive(api, container_id, folders.getvalue(), top)
    put_archive(api, container_id, pack(tree, uid=uid, gid=gid), dest)


def put_file(api: APIClient, container_id: str, dest: str, content: bytes, mode: int, uid: int, gid: int) -> None:
    """Write one file; its folder must exist."""
    entry = tarfile.TarInfo(posixpath.basename(dest))
    entry.size, entry.mode, entry.uid, entry.gid = len(content), mode, uid, gid
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(entry, io.BytesIO(content))
    put_archive(api, container_id, buffer.getvalue(), posixpath.dirname(dest) or "/")


def get_archive(api: APIClient, container_id: str, path: str) -> Iterator[bytes]:
    """The tar of a path, in chunks. Names in it begin with the path's last part."""
    with engine_faults(f"copying {path} out"):
        chunks, _ = api.get_archive(container_id, path, chunk_size=_CHUNK)
        yield from chunks


def get_file(api: APIClient, container_id: str, path: str, max_bytes: int) -> bytes | None:
    """Content of a regular file, or None where there is none.

    Raises:
        PermanentError: it is larger than `max_bytes`.
    """
    if not exists(api, container_id, path):
        return None
    with tarfile.open(fileobj=as_file(get_archive(api, container_id, path)), mode="r|") as archive:
        entry = archive.next()
        if entry is None or not entry.isreg():
            return None
        if entry.size > max_bytes:
            raise PermanentError(
                f"{path} in the container holds {entry.size} bytes, more than the {max_bytes} taken out"
            )
        reader = archive.extractfile(entry)
        return reader.read() if reader else None


def get_tree(api: APIClient, container_id: str, path: str, max_bytes: int, drop_unsafe: bool) -> dict[str, File]:
    """The files below a folder.

    Raises:
        TreeUnsafeError: more than `max_bytes`, or something that may not be carried and `drop_unsafe` is False.
        PermanentError: the container has no such path.
    """
    path = posixpath.normpath(path)
    try:
        chunks, _ = api.get_archive(container_id, path, chunk_size=_CHUNK)
    except NotFound as error:
        raise PermanentError(f"{path} is not in the container") from error
    with engine_faults(f"copying {path} out"):
        strip = posixpath.basename(path)
        return unpack(
            as_file(iter(chunks)), strip=f"{strip}/" if strip else "", drop_unsafe=drop_unsafe, max_bytes=max_bytes
        )


def _deepest_existing(api: APIClient, container_id: str, path: str) -> tuple[str, list[str]]:
    missing: list[str] = []
    while path not in ("/", "") and not exists(api, container_id, path):
        path, name = posixpath.split(path)
        missing.insert(0, name)
    return path or "/", missing
