"""The leak scan: no Git, no solution, no hidden test, no fixed release, no trace of this machine in any layer of an image."""

import itertools
import json
import posixpath
import tarfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from blocks.records import Record
from blocks.trees import Tree
from tasks.containerize.authorship import below_packages
from tasks.containerize.contents import MAX_BYTES, views
from tasks.containerize.fingerprints import Fingerprints, match
from tasks.containerize.git_traces import names_remote, trace, version_control
from tasks.containerize.machine_traces import holds_certificate, machine_variables
from tasks.containerize.matching import Found, Matcher, strings_of
from tasks.containerize.releases import OwnReleases

_WORKSPACE = "app/"
_MAX_HITS = 200
_MAX_DOUBTS = 2000
"""Files whose findings rest on names wait for the end; more are settled by what is known until then."""

_RANK = (
    "git", "own_release", "solution_lines", "solution_bytecode", "solution_names", "solution_file", "commit_id",
    "remote_name", "extra_certificate", "machine_file",
)  # fmt: skip
"""Of several things found in one file, the first says what it is."""


class LeakHit(Record):
    """One finding: what kind, in which layer, at which path, and what matched (never a hidden test's own text)."""

    kind: str
    layer: str
    path: str
    evidence: str


@dataclass(frozen=True)
class Trace:
    """Something found in a file, or in what the file holds."""

    found: Found
    path: str


@dataclass(frozen=True)
class Wanted:
    """What is looked for."""

    matcher: Matcher
    prints: Fingerprints
    project: str | None
    before: str | None
    remotes: tuple[str, ...]
    secrets: tuple[str, ...]
    certificates: frozenset[bytes]
    known: Mapping[str, bytes]

    def slugs(self) -> list[bytes]:
        """`owner/name` of each remote."""
        return ["/".join(remote.rstrip("/").removesuffix(".git").split("/")[-2:]).encode() for remote in self.remotes]


def scan_layers(
    layers: Iterable[tuple[str, IO[bytes]]],
    prints: Fingerprints,
    *,
    project: str | None,
    before: str | None = None,
    remotes: Iterable[str],
    secrets: Collection[str] = (),
    certificates: frozenset[bytes] = frozenset(),
    start: Tree | None = None,
) -> list[LeakHit]:
    """Scan the layers' tars, also what a later layer deletes, and the image's JSON documents (`json/...`); all as data.

    Args:
        layers: as Engine.save_layers gives them; each stream is read once, one file of it in memory at a time.
        prints: of the solution and the hidden tests.
        project: the project's own name as a distribution; any release of it in the image is a leak.
        before: the last release that the start commit descends from; installed, it and those before it are no leak.
        remotes: public addresses of the repository.
        secrets: commit ids that give the solution away.
        certificates: of this machine, as `machine_traces.certificates` reads them.
        start: the start tree; of what lies unchanged in the workspace, only the archives are looked through.

    Returns:
        The findings, at most one per file; at most 200.
    """
    known = {f"{_WORKSPACE}{path}": file.content for path, file in (start or {}).items()}
    wanted = Wanted(Matcher(prints), prints, project, before, tuple(remotes), tuple(secrets), certificates, known)
    hits: list[LeakHit] = []
    doubts: list[tuple[str, list[Trace]]] = []
    for name, stream in layers:
        if name.startswith("json/"):
            _add(hits, _scan_document(name, stream, wanted))
            continue
        for traces in _scan_layer(stream, wanted):
            if any(trace.found.names for trace in traces) and len(doubts) < _MAX_DOUBTS:
                doubts.append((name, traces))
            else:
                _add(hits, _first(name, traces, wanted))
    for name, traces in doubts:
        _add(hits, _first(name, traces, wanted))
    return hits


def _add(hits: list[LeakHit], found: Iterable[LeakHit]) -> None:
    hits.extend(itertools.islice(found, max(0, _MAX_HITS - len(hits))))


def _first(layer: str, traces: Iterable[Trace], wanted: Wanted) -> Iterator[LeakHit]:
    """Of what was found in one file, what says best what it is."""
    standing = [each for each in traces if wanted.matcher.stands(each.found)]
    for best in sorted(standing, key=lambda each: _RANK.index(each.found.kind))[:1]:
        yield LeakHit(kind=best.found.kind, layer=layer, path=best.path, evidence=best.found.evidence)


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


def _scan_document(name: str, stream: IO[bytes], wanted: Wanted) -> Iterator[LeakHit]:
    """Labels, variables, commands and comments of an image; a string holds line breaks that its JSON escapes."""
    content = stream.read()
    try:
        document = json.loads(content)
        text = "\n".join(strings_of(document))
    except ValueError:
        document, text = None, content.decode("utf-8", "replace")
    yield from scan_text(name, text, wanted.prints, secrets=wanted.secrets)
    for _, inner in views(name, text.encode()):
        found = wanted.matcher.find(name, inner)
        if found and wanted.matcher.stands(found):
            if match(wanted.prints, text) is None:
                yield LeakHit(kind=found.kind, layer="text", path=name, evidence=found.evidence)
            break
    config = document.get("config") if isinstance(document, dict) else None
    for variable in machine_variables((config or {}).get("Env") or []):
        yield LeakHit(kind="machine_variable", layer="text", path=name, evidence=variable)


def _scan_layer(stream: IO[bytes], wanted: Wanted) -> Iterator[list[Trace]]:
    """What was found, file by file."""
    releases = OwnReleases(wanted.project, wanted.before)
    folders: set[str] = set()
    with tarfile.open(fileobj=stream, mode="r|*") as archive:
        for entry in archive:
            path = posixpath.normpath(entry.name)
            if folder := version_control(path):
                if folder not in folders:
                    yield [Trace(Found("git", "a Git folder or object"), path)]
                folders.add(folder)
                continue
            reader = archive.extractfile(entry) if entry.isreg() else None
            if reader is not None and (traces := list(_look(path, reader.read(MAX_BYTES), releases, wanted))):
                yield traces
    for path, evidence in releases.finish():
        yield [Trace(Found("own_release", evidence), path)]


def _look(path: str, content: bytes, releases: OwnReleases, wanted: Wanted) -> Iterator[Trace]:
    """Everything found in one file and in what it holds."""
    is_known = wanted.known.get(path) == content
    if path.startswith("dev/shm/"):
        yield Trace(Found("machine_file", "a file for the fetch step"), path)
    for inner, inside in views(path, content):
        if evidence := releases.see(inner, inside):
            yield Trace(Found("own_release", evidence), inner)
        if is_known and inside is content:
            continue
        if found := wanted.matcher.find(inner, inside):
            yield Trace(found, inner)
        if not is_known:
            yield from (Trace(found, inner) for found in _foreign(path, inner, inside, wanted))


def _foreign(path: str, inner: str, content: bytes, wanted: Wanted) -> Iterator[Found]:
    """What the start tree may hold (as data of its tests) and nothing else."""
    if inner != path and version_control(inner.rpartition("!")[2]):
        yield Found("git", "a Git folder or object")
    if evidence := trace(inner, content):
        yield Found("git", evidence)
    if evidence := _names_repository(inner, content, wanted):
        yield Found("remote_name", evidence)
    for secret in wanted.secrets:
        if secret.encode() in content or bytes.fromhex(secret) in content:
            yield Found("commit_id", secret[:12])
    if holds_certificate(content, wanted.certificates):
        yield Found("extra_certificate", "a certificate of the fetch step")


def _names_repository(path: str, content: bytes, wanted: Wanted) -> str | None:
    """A remote of a Git configuration, or the repository as the source of an install from version control."""
    for remote, slug in zip(wanted.remotes, wanted.slugs(), strict=True):
        if b"url = " + remote.encode() in content or (b'"vcs_info"' in content and slug in content):
            return remote
    return "a remote" if names_remote(content) and below_packages(path) is None else None
