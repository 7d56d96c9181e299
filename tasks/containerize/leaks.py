"""The leak scan: no Git, no solution, no hidden test, no fixed release in any layer of an exported image."""

import posixpath
import re
import tarfile
from collections.abc import Iterable, Iterator
from typing import IO

from packaging.utils import canonicalize_name

from blocks.records import Record
from tasks.containerize.fingerprints import Fingerprints, match

_GIT_OBJECT = re.compile(r"(^|/)objects/([0-9a-f]{2}/[0-9a-f]{38}|pack/pack-[0-9a-f]{40}\.(pack|idx))$")
_MAX_TEXT = 4 << 20


class LeakHit(Record):
    """One finding: what kind, in which layer, at which path, and what matched (never a hidden test's own text)."""

    kind: str
    layer: str
    path: str
    evidence: str


def scan_layers(
    layers: Iterable[tuple[str, IO[bytes]]], prints: Fingerprints, *, project: str | None, remotes: Iterable[str]
) -> list[LeakHit]:
    """Scan the tars of the layers, also what a later layer deletes, and the JSON documents of the image (`json/...`); as data."""
    needles = tuple(remotes)
    return [hit for name, stream in layers for hit in _scan_layer(name, stream, prints, project, needles)]


def scan_text(where: str, text: str, prints: Fingerprints, *, secrets: Iterable[str] = ()) -> list[LeakHit]:
    """Scan one text that the agent sees (instruction, image configuration). `secrets`: commit ids that give it away."""
    hits = []
    if (window := match(prints, text)) is not None:
        hits.append(LeakHit(kind="solution_lines", layer="text", path=where, evidence=f"{len(window)} lines"))
    hits += [
        LeakHit(kind="commit_id", layer="text", path=where, evidence=secret[:12])
        for secret in secrets
        if secret[:12] in text
    ]
    return hits


def _scan_layer(
    layer: str, stream: IO[bytes], prints: Fingerprints, project: str | None, remotes: tuple[str, ...]
) -> Iterator[LeakHit]:
    if layer.startswith("json/"):
        yield from scan_text(layer, stream.read().decode("utf-8", "replace"), prints)
        return
    with tarfile.open(fileobj=stream, mode="r|*") as archive:
        for entry in archive:
            path = posixpath.normpath(entry.name)
            parts = path.split("/")
            if ".git" in parts or _GIT_OBJECT.search(path):
                yield LeakHit(kind="git", layer=layer, path=path, evidence="a Git folder or object")
                continue
            if project and _is_release(parts[-1], project):
                yield LeakHit(kind="own_release", layer=layer, path=path, evidence=f"a built release of {project}")
            if not entry.isreg() or entry.size > _MAX_TEXT:
                continue
            reader = archive.extractfile(entry)
            content = reader.read() if reader else b""
            if b"\0" in content[:8192]:
                continue
            text = content.decode("utf-8", "replace")
            if (window := match(prints, text)) is not None:
                yield LeakHit(kind="solution_lines", layer=layer, path=path, evidence=f"{len(window)} lines")
            yield from (
                LeakHit(kind="remote_name", layer=layer, path=path, evidence=remote)
                for remote in remotes
                if f"url = {remote}" in text
            )


def _is_release(filename: str, project: str) -> bool:
    stem = re.match(r"^(.+?)-\d[^/]*\.(whl|tar\.gz|zip)$", filename)
    return bool(stem and canonicalize_name(stem[1]) == canonicalize_name(project))
