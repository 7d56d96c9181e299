"""The start of a candidate: the commit itself, or the public commit nearest to what the session saw; and what the user had
not committed, as far as the session shows it.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Record
from blocks.repositories import Reach, Repository, Way
from blocks.repositories.records import EXECUTABLE_MODE
from blocks.repositories.snapshot import LFS_MARK, read_blobs
from blocks.repositories.standing import blob_sizes, blobs_at, mainline, public_commits, reach_of
from blocks.session import Session
from blocks.start import Recovered, Start, as_file
from blocks.trees import File, TreeUnsafeError, misplaced, safe_path
from tasks.qualify.fidelity import Fidelity, Sighting, matches, measure_fidelity, sightings

SEARCHED = 3000
"""How many public commits before the session, the newest ones, may stand in for one that cannot be had."""
_MAX_PATHS = 60
_MAX_FILE_BYTES = 1 << 20
_BATCH = 100


class Base(Record):
    """A public commit that stands in for the start."""

    commit: str
    matching: int
    """Contents seen in the session that it has."""
    checks: int
    searched: int
    equals: int
    """How many of the searched commits match as much."""


class Found(Record):
    """What is known of the start; `start` is None where there is none, and `why` says so."""

    start: Start | None
    fidelity: Fidelity = Fidelity()
    base: Base | None = None
    why: str = ""


def find_start(session: Session, repository: Repository) -> Found:
    """Find the start commit and what has to be recovered. `repository` was opened for the session's start commit."""
    commit = repository.resolve(session.start_commit)
    base: Base | None = None
    if commit is None:
        tried = "; ".join(repository.search.said) if repository.search else ""
        base = nearest_base(session, repository)
        if base is None:
            why = "the session shows no file, or no date, by which a public commit could stand in for it"
            return Found(start=None, why=f"{tried}; {why}" if tried else why)
        commit = base.commit
    reach = Reach(way=Way.NONE) if base else reach_of(repository, commit)
    fidelity = measure_fidelity(session, repository, commit)
    recovered = _recover(session, repository, commit, fidelity)
    rebuilt = fidelity.checks and (len(fidelity.matching) + len(recovered)) / fidelity.checks
    start = Start(
        commit=session.start_commit,
        base_commit=commit,
        reach=reach.model_copy(update={"names": reach.names[:5]}),
        recovered=recovered,
        commit_fidelity=fidelity.share,
        start_fidelity=round(rebuilt, 3) if fidelity.checks else None,
    )
    return Found(start=start, fidelity=fidelity, base=base)


def placed(session: Session, repository: Repository) -> Session:
    """The session as of a commit that can be had: itself, or with its stand-in as the start commit."""
    if repository.resolve(session.start_commit) is not None:
        return session
    base = nearest_base(session, repository)
    return session if base is None else session.model_copy(update={"start_commit": base.commit})


def nearest_base(session: Session, repository: Repository) -> Base | None:
    """The public commit, not younger than the session, that has most of what the session saw.

    Of equally good ones the newest on the main branch, else the newest. None where nothing was seen, nothing matches, or the
    session has no date: then a commit that holds the solution might be taken.
    """
    moment = session_date(session)
    seen = sightings(session)[:_MAX_PATHS]
    if moment is None or not seen:
        return None
    commits = public_commits(repository, until=moment, limit=SEARCHED)
    blobs = blobs_at(repository, commits, [one.path for one in seen])
    matched = _matched(repository, seen, blobs.values())
    scores = {commit: sum((index, blob) in matched for index, blob in enumerate(row)) for commit, row in blobs.items()}
    best = max(scores.values(), default=0)
    if best == 0:
        return None
    equals = [commit for commit in commits if scores[commit] == best]
    main = mainline(repository)
    chosen = next((commit for commit in equals if commit in main), equals[0])
    return Base(commit=chosen, matching=best, checks=len(seen), searched=len(commits), equals=len(equals))


def session_date(session: Session) -> datetime | None:
    """When the session began; None where it does not say."""
    moments = [step.timestamp for step in session.steps if step.timestamp is not None]
    return session.started_at or min(moments, default=None)


def _matched(
    repository: Repository, seen: Sequence[Sighting], rows: Iterable[tuple[str | None, ...]]
) -> set[tuple[int, str]]:
    """Which versions of which seen file have what was seen of it."""
    versions = {(index, blob) for row in rows for index, blob in enumerate(row) if blob}
    sizes = blob_sizes(repository, sorted({blob for _, blob in versions}))
    readable = [blob for blob, size in sizes.items() if size <= _MAX_FILE_BYTES]
    found: set[tuple[int, str]] = set()
    for begin in range(0, len(readable), _BATCH):
        batch = readable[begin : begin + _BATCH]
        contents = read_blobs(repository.path, batch, _BATCH * _MAX_FILE_BYTES)
        for index, blob in versions:
            if blob in contents and matches(
                seen[index].text, contents[blob].decode("utf-8", "replace"), whole=seen[index].whole
            ):
                found.add((index, blob))
    return found


def _recover(session: Session, repository: Repository, commit: str, fidelity: Fidelity) -> tuple[Recovered, ...]:
    """What of the differing and absent files can be taken from the session: whole, early, nothing redacted, plain text."""
    wanted = {*fidelity.differing, *fidelity.absent}
    modes = {entry.path: entry.mode for entry in repository.tree_paths(commit)}
    tree = {path: File() for path in modes}
    found: list[Recovered] = []
    for one in sightings(session):
        if one.path not in wanted or not one.whole or not one.early or one.is_redacted or not _is_carried(one):
            continue
        before: File | None = None
        if one.path in modes:
            content = repository.read(commit, one.path) or b""
            if not _is_text(content):
                continue
            before = File(content=content, executable=modes[one.path] == EXECUTABLE_MODE)
        if misplaced({**tree, one.path: File()}):
            continue
        file = as_file(one.text, before)
        tree[one.path] = File()
        found.append(Recovered(path=one.path, sha256=hashlib.sha256(file.content).hexdigest(), step=one.step))
    return tuple(sorted(found, key=lambda one: one.path))


def _is_carried(seen: Sighting) -> bool:
    try:
        safe_path(seen.path)
    except TreeUnsafeError:
        return False
    return len(seen.text) <= _MAX_FILE_BYTES and "\0" not in seen.text and kind_of(seen.path) is not PathKind.GENERATED


def _is_text(content: bytes) -> bool:
    if b"\0" in content or content.startswith(LFS_MARK):
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
