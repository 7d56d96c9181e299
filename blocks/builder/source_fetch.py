"""Runs in a fetch container: downloads source distributions by hash and reads what they say of themselves, as data.

Nothing is unpacked to the disk and nothing of what was fetched runs. Exit code 75 (EX_TEMPFAIL of sysexits.h): the
network failed. Standard library only; Python 3.9 and later.
"""

import base64
import hashlib
import json
import os
import posixpath
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

MOST_BYTES = 512 << 20
MOST_TEXT = 1 << 20
MOST_ENTRIES = 200_000
TELLING = ("pyproject.toml", "PKG-INFO")
_INDEXES = (
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "PIP_INDEX_URL",
    "UV_INDEX",
    "UV_EXTRA_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
)


def main(orders: "list[dict[str, str]]", folder: Path) -> int:
    """Each order: `url`, `sha256`, `filename`. Leaves the files and `facts.json`: per file the telling texts it holds."""
    facts = {}
    for order in orders:
        try:
            content = download(order["url"])
        except (urllib.error.URLError, OSError) as error:
            code = getattr(error, "code", 599)
            sys.stderr.write(f"{order['filename']} cannot be downloaded: {error}\n")
            return 75 if code >= 500 or code == 429 else 1
        if hashlib.sha256(content).hexdigest() != order["sha256"]:
            sys.stderr.write(f"{order['filename']} is not what the index says it is: its hash differs\n")
            return 1
        path = folder / order["filename"]
        path.write_bytes(content)
        try:
            facts[order["filename"]] = dict(texts(path))
        except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
            sys.stderr.write(f"{order['filename']} cannot be read: {error}\n")
            return 1
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    return 0


def download(url: str) -> bytes:
    """The file, with the index's credentials where the file lies on the index's own host; where that sends on, without."""
    request = urllib.request.Request(url)
    if credentials := _credentials(url):
        request.add_unredirected_header("Authorization", f"Basic {credentials}")
    with urllib.request.urlopen(request, timeout=120) as answer:
        content: bytes = answer.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(f"more than {MOST_BYTES} bytes")
    return content


def texts(path: Path) -> "Iterator[tuple[str, str]]":
    """The telling files in the top folder of an archive."""
    found = _of_zip(path) if path.suffix == ".zip" else _of_tar(path)
    for name, content in found:
        yield posixpath.basename(name), content.decode("utf-8", "replace")


def _of_tar(path: Path) -> "Iterator[tuple[str, bytes]]":
    with tarfile.open(path, mode="r|*") as archive:
        for number, entry in enumerate(archive):
            if number >= MOST_ENTRIES or entry.offset > 4 * MOST_BYTES:
                raise ValueError("it holds more than a source distribution does")
            if entry.isreg() and _tells(entry.name) and entry.size <= MOST_TEXT:
                reader = archive.extractfile(entry)
                if reader:
                    yield entry.name, reader.read()


def _of_zip(path: Path) -> "Iterator[tuple[str, bytes]]":
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if _tells(entry.filename) and entry.file_size <= MOST_TEXT:
                with archive.open(entry) as reader:
                    yield entry.filename, reader.read(MOST_TEXT)


def _tells(name: str) -> bool:
    parts = posixpath.normpath(name).split("/")
    return len(parts) == 2 and parts[1] in TELLING


def _credentials(url: str) -> "str | None":
    for name in _INDEXES:
        for index in os.environ.get(name, "").split():
            parts = urlsplit(index)
            if parts.username and (parts.scheme, parts.hostname) == (urlsplit(url).scheme, urlsplit(url).hostname):
                pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
                return base64.b64encode(pair.encode()).decode()
    return None


if __name__ == "__main__":
    sys.exit(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])))
