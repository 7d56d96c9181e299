"""Copying a local source whose object store is not whole (a snapshot without its largest files, a partial clone).

git itself will not serve such a source, so its packs and loose objects are taken as data: packs are indexed anew, which
computes every object's id from its content; loose objects are hashed here. Alternates are not followed.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

from blocks.repositories.git import GitError, run_git

_LOOSE = re.compile(r"^[0-9a-f]{38}$")
_MAX_LOOSE_BYTES = 256 << 20
_INDEX_TIMEOUT_SEC = 900.0


def copy_objects(source: Path, target: Path, refs: Mapping[str, str]) -> None:
    """Bring every object that `source` holds into the bare repository `target`, then set its refs.

    Raises:
        GitError: a pack is broken, or a ref points to a commit that the source lacks.
    """
    objects = next((folder for folder in (source / "objects", source / ".git" / "objects") if folder.is_dir()), None)
    if objects is None:
        raise GitError(f"{source}: lacks objects that its refs need, and has no objects folder to copy from")
    for pack in sorted((objects / "pack").glob("*.pack")):
        if pack.is_file() and not pack.is_symlink():
            _copy_pack(pack, target)
    for folder in sorted(objects.glob("[0-9a-f][0-9a-f]")):
        for file in sorted(folder.iterdir()):
            if _LOOSE.match(file.name) and file.is_file() and not file.is_symlink():
                _copy_loose(file, folder.name + file.name, target)
    commands = b"".join(b"update %s\0%s\0\0" % (os.fsencode(name), sha.encode()) for name, sha in refs.items())
    result = run_git(["update-ref", "--stdin", "-z"], git_dir=target, stdin=commands)
    if result.code:
        raise GitError(f"{source}: refs cannot be set: {result.errors[-300:]}")


def _copy_pack(pack: Path, target: Path) -> None:
    folder = target / "objects" / "pack"
    folder.mkdir(parents=True, exist_ok=True)
    copied = folder / f"pack-{hashlib.sha256(os.fsencode(pack.name)).hexdigest()[:40]}.pack"
    if copied.with_suffix(".idx").exists():
        return
    with pack.open("rb") as reader, copied.open("wb") as writer:
        while chunk := reader.read(1 << 20):
            writer.write(chunk)
    result = run_git(["index-pack", str(copied)], git_dir=target, timeout_sec=_INDEX_TIMEOUT_SEC)
    if result.code:
        copied.unlink()
        raise GitError(f"{pack}: cannot be indexed: {result.errors[-300:]}")


def _copy_loose(file: Path, object_id: str, target: Path) -> None:
    packed = file.read_bytes()
    reader = zlib.decompressobj()
    try:
        content = reader.decompress(packed, _MAX_LOOSE_BYTES)
    except zlib.error:
        return
    if hashlib.sha1(content, usedforsecurity=False).hexdigest() != object_id:
        return
    copied = target / "objects" / object_id[:2] / object_id[2:]
    copied.parent.mkdir(parents=True, exist_ok=True)
    copied.write_bytes(packed)
