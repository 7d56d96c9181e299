"""Traces of version control: folders, objects, packs, references, remotes, under whatever name (gitformat-pack(5) etc.)."""

import re
import zlib

_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj", ".bzr"})
_OBJECT_PATH = re.compile(r"(^|/)objects/([0-9a-f]{2}/[0-9a-f]{38}|pack/pack-[0-9a-f]{40}\.(pack|idx))$")
_MAGIC = {
    b"PACK\0\0\0\2": "a pack of objects",
    b"PACK\0\0\0\3": "a pack of objects",
    b"\xfftOc": "the index of a pack",
    b"DIRC\0\0\0": "a Git index",
    b"CGPH\1": "a commit graph",
    b"MIDX\1": "the index of packs",
    b"# v2 git bundle": "a bundle",
    b"# v3 git bundle": "a bundle",
    b"# pack-refs with": "packed references",
}
_OBJECT = re.compile(rb"(blob|tree|commit|tag) \d+\0")
_HEAD = re.compile(rb"ref: refs/[^\s]+\n?")
_REFERENCE_PATH = re.compile(r"(^|/)(refs/(heads|tags|remotes|pull)/.+|refs/stash|ORIG_HEAD|FETCH_HEAD|MERGE_HEAD)$")
_REFERENCE = re.compile(rb"[0-9a-f]{40}\b")
_LOG = re.compile(rb"[0-9a-f]{40} [0-9a-f]{40} [^\n]*<[^\n>]*> \d+ [+-]\d{4}\t")
_CONFIG = re.compile(rb'^\s*\[remote "[^"\n]+"\][^\[]*?^\s*(url|fetch)\s*=', re.M)


def version_control(path: str) -> str | None:
    """The folder of version control a path lies in, or the path itself where it is named as Git names objects."""
    parts = path.split("/")
    for position, part in enumerate(parts):
        if part in _FOLDERS:
            return "/".join(parts[: position + 1])
    return path if _OBJECT_PATH.search(path) else None


def trace(path: str, content: bytes) -> str | None:
    """What of Git a file is, or None."""
    for magic, what in _MAGIC.items():
        if content.startswith(magic):
            return what
    if content[:1] == b"x" and _is_object(content):
        return "a Git object"
    if path.endswith("HEAD") and _HEAD.fullmatch(content[:400]):
        return "the HEAD of a repository"
    if _REFERENCE_PATH.search(path) and _REFERENCE.match(content):
        return "a reference"
    return "a log of references" if _LOG.match(content) else None


def names_remote(content: bytes) -> bool:
    """Whether a file is a Git configuration with a remote."""
    return b'[remote "' in content and bool(_CONFIG.search(content))


def _is_object(content: bytes) -> bool:
    if content[1:2] not in (b"\x01", b"\x5e", b"\x9c", b"\xda"):
        return False
    try:
        return bool(_OBJECT.match(zlib.decompressobj().decompress(content[:4096], 64)))
    except zlib.error:
        return False
