"""What a file holds inside: archives opened in memory, compressed and re-encoded texts; bounded in depth and size."""

import base64
import binascii
import bz2
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

MAX_DEPTH = 3
MAX_BYTES = 256 << 20
"""Most bytes that come out of one file of a layer, all that is in it together."""
_MAX_MEMBERS = 50_000
_ZIP_END = b"PK\x05\x06"
_INLINE_MAP = re.compile(rb"sourceMappingURL=data:application/json[^,\s]{0,60};base64,([A-Za-z0-9+/=]+)")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_FAULTS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, binascii.Error, EOFError, OSError, ValueError,
    RuntimeError, NotImplementedError, UnicodeError,
)  # fmt: skip
"""What the standard library raises for broken, encrypted or unknown archives."""


class Budget:
    """Bytes that may still come out of one file."""

    def __init__(self, size: int = MAX_BYTES) -> None:
        self.left = size

    def take(self, content: bytes) -> bytes:
        """Count what came out."""
        self.left -= len(content)
        return content


def views(path: str, content: bytes, budget: Budget | None = None, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """The content itself, then whatever is in it, with the path `outer!inner`.

    A broken archive gives what could be read of it; what is over the bounds is left out.
    """
    budget = budget or Budget()
    yield path, content
    if depth >= MAX_DEPTH:
        return
    for name, inner in _inner(content, budget):
        inside = f"{path}!{name}" if name else path
        yield from views(inside, inner, budget, depth + 1)


def _inner(content: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    if _ZIP_END in content[-65_600:]:
        yield from _unzip(content, budget)
    elif content[257:262] == b"ustar":
        yield from _untar(content, budget)
    elif (plain := _decompress(content, budget)) is not None:
        yield "", plain
    elif (text := _from_utf16(content)) is not None:
        yield "", budget.take(text)
    else:
        yield from _unescaped(content, budget)


def _unzip(content: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist()[:_MAX_MEMBERS]:
                if budget.left <= 0:
                    return
                if entry.is_dir():
                    continue
                try:
                    with archive.open(entry) as reader:
                        inner = budget.take(reader.read(budget.left))
                except _FAULTS:
                    inner = b""
                yield entry.filename, inner
    except _FAULTS:
        return


def _untar(content: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for count, entry in enumerate(archive):
                if budget.left <= 0 or count >= _MAX_MEMBERS:
                    return
                reader = archive.extractfile(entry) if entry.isreg() else None
                if reader is not None:
                    yield entry.name, budget.take(reader.read(budget.left))
    except _FAULTS:
        return


def _decompress(content: bytes, budget: Budget) -> bytes | None:
    try:
        if content[:3] == b"\x1f\x8b\x08":
            return budget.take(zlib.decompressobj(31).decompress(content, max(1, budget.left)))
        if content[:3] == b"BZh":
            return budget.take(bz2.BZ2Decompressor().decompress(content, max(1, budget.left)))
        if content[:6] == b"\xfd7zXZ\0":
            decompressor = lzma.LZMADecompressor(memlimit=256 << 20)
            return budget.take(decompressor.decompress(content, max(1, budget.left)))
    except _FAULTS:
        return None
    return None


def _from_utf16(content: bytes) -> bytes | None:
    """UTF-16 with its mark, or text in which every other byte is zero."""
    for encoding, mark, zeros in (
        ("utf-16-le", b"\xff\xfe", slice(1, 400, 2)),
        ("utf-16-be", b"\xfe\xff", slice(0, 400, 2)),
    ):
        sample = content[zeros]
        if content.startswith(mark) or (len(sample) > 20 and sample.count(0) > 0.8 * len(sample)):
            text = content.removeprefix(mark)
            if content[:400].count(0) < 0.7 * min(400, len(content)):
                return text[: len(text) & ~1].decode(encoding, "replace").encode()
    return None


def _unescaped(content: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Texts inside strings (JSON, source maps, notebooks): an escaped line break is one."""
    if b"\\n" in content and b"\0" not in content[:8192]:
        yield "", budget.take(re.sub(rb"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), content))
    if b"sourceMappingURL=data:" in content:
        for found in _INLINE_MAP.finditer(content):
            try:
                yield "", budget.take(base64.b64decode(found[1]))
            except _FAULTS:
                continue
