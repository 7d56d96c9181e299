"""Commits that known benchmarks use already: lists in data/known_benchmarks, one file per benchmark, a commit per line.

A line is `<host>/<owner>/<name> <40 hex digits>`, the host in small letters; `#` begins a comment. A commit may be the
start of one of its tasks or the outcome. `envmill benchmarks NAME SOURCE` writes such a file (docs/operators.md).
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from blocks.errors import UsageError
from blocks.records import Record
from blocks.repositories import normalise

LISTS = Path(__file__).resolve().parents[2] / "data" / "known_benchmarks"
_SHA = re.compile(r"\b[0-9a-f]{40}\b")
_CLONE = re.compile(r"git (?:clone|remote add)[^\n]*?((?:https?|ssh|git)://[^\s\"';&|]+|git@[\w.-]+:[^\s\"';&|]+)")
_AT = re.compile(r"git (?:checkout|reset|fetch|switch)\b[^\n]*?\b([0-9a-f]{40})\b")
_NAMED = re.compile(r"(?:instance_|^)([A-Za-z0-9][\w.-]*?)__([A-Za-z0-9][\w.-]*?)-([0-9a-f]{40})(?![0-9a-f])")
_COLUMNS = ("base_commit", "start_commit", "environment_setup_commit", "merge_commit", "head_commit")
_HOST = "github.com"


class KnownCommit(Record):
    """A commit that a benchmark uses."""

    benchmark: str
    repository: str
    """`host/owner/name`, folded to small letters."""
    commit: str


def known_commits(repository: str, folder: Path = LISTS) -> dict[str, tuple[str, ...]]:
    """The commits of one repository (its public address) that benchmarks use, each with the names of those."""
    wanted = _folded(repository)
    found: dict[str, list[str]] = {}
    for known in _read(folder):
        if known.repository == wanted:
            found.setdefault(known.commit, []).append(known.benchmark)
    return {commit: tuple(names) for commit, names in found.items()}


def read_source(source: Path) -> set[tuple[str, str]]:
    """The (repository, commit) pairs of a benchmark: rows (`.jsonl`, `.json`, `.parquet` with `repo` and `base_commit`, as
    SWE-bench has them) or a folder of tasks, whose Dockerfiles name a repository and a commit.

    Raises:
        UsageError: nothing there names a commit.
    """
    if source.is_dir():
        found = {pair for path in sorted(source.rglob("*Dockerfile*")) if path.is_file() for pair in _of_folder(path)}
    elif source.suffix == ".parquet":
        found = {pair for row in pq.read_table(source).to_pylist() for pair in _of_row(row)}
    elif source.is_file():
        text = source.read_text(encoding="utf-8", errors="replace")
        rows = (
            json.loads(text) if source.suffix == ".json" else [json.loads(line) for line in text.splitlines() if line]
        )
        found = {pair for row in rows if isinstance(row, dict) for pair in _of_row(row)}
    else:
        raise UsageError(f"{source}: no such file or folder")
    if not found:
        raise UsageError(f"{source}: nothing there names a repository and a commit; see `envmill benchmarks --help`")
    return found


def write_list(name: str, pairs: set[tuple[str, str]], said: str, folder: Path = LISTS) -> Path:
    """Write the list of one benchmark; an older one of the same name is replaced.

    Raises:
        UsageError: the name cannot be a file's.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,60}", name):
        raise UsageError(f"{name!r}: a benchmark's name has small letters, digits, dots and hyphens")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.txt"
    lines = sorted(f"{_folded(repository)} {commit}" for repository, commit in pairs)
    path.write_text("".join(f"{line}\n" for line in (f"# {said}", *dict.fromkeys(lines))), encoding="utf-8")
    return path


@cache
def _parsed(path: Path, modified_ns: int) -> tuple[KnownCommit, ...]:
    del modified_ns
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split("#", 1)[0].split()
        if len(words) == 2 and _SHA.fullmatch(words[1]):
            found.append(KnownCommit(benchmark=path.stem, repository=words[0], commit=words[1]))
    return tuple(found)


def _read(folder: Path) -> Iterator[KnownCommit]:
    for path in sorted(folder.glob("*.txt")):
        yield from _parsed(path, path.stat().st_mtime_ns)


def _folded(repository: str) -> str:
    return repository.split("://", 1)[-1].casefold()


def _of_row(row: dict[str, object]) -> Iterator[tuple[str, str]]:
    name = str(row.get("repo") or row.get("repository") or "")
    address = f"{_HOST}/{name}" if re.fullmatch(r"[\w.-]+/[\w.-]+", name) else name
    for column in _COLUMNS:
        commit = str(row.get(column) or "")
        if address and _SHA.fullmatch(commit):
            yield address, commit


def _of_folder(dockerfile: Path) -> Iterator[tuple[str, str]]:
    named = next((match for part in reversed(dockerfile.parts[:-1]) if (match := _NAMED.search(part))), None)
    text = dockerfile.read_text(encoding="utf-8", errors="replace")
    addresses = [] if named is None else [f"{_HOST}/{named[1]}/{named[2]}"]
    for url in _CLONE.findall(text):
        try:
            addresses.append(normalise(url))
        except UsageError:
            continue
    commits = set(_AT.findall(text)) | ({named[3]} if named else set())
    for address in dict.fromkeys(addresses[:1]):
        yield from ((address, commit) for commit in sorted(commits))
