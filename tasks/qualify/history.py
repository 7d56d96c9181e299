"""The commits after the start, as candidates for an outcome: families of one change, and which of them were reverted."""

import re
from collections.abc import Mapping, Sequence

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Record
from blocks.repositories import Commit, FileChange, Repository
from tasks.qualify.steering import without_steering

_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,40})")
_REVERT_SUBJECT = re.compile(r"^(?:Revert|Reverts|revert:)\s+[\"“]?(.+?)[\"”]?$")
_PULL_SUFFIX = re.compile(r"\s*\(#\d+\)$")
MAX_MEMBERS = 25
"""A merge of more commits than this is a release or a long-lived branch, not one change."""


class Candidate(Record):
    """One commit and what it changed against its first parent."""

    commit: Commit
    changes: tuple[FileChange, ...]
    family: str
    """The same for commits that carry the same change: a merge and what it merges."""
    merge_message: str = ""
    """Message of the merge that brought it, where it is the only commit of that merge."""

    @property
    def source_paths(self) -> frozenset[str]:
        """Changed paths that are source."""
        return frozenset(change.path for change in self.changes if kind_of(change.path) is PathKind.SOURCE)

    @property
    def touches_tests(self) -> bool:
        """Whether a test file was added or changed."""
        return any(kind_of(change.path) is PathKind.TEST and change.new_mode != "000000" for change in self.changes)

    @property
    def message(self) -> str:
        """Everything people wrote about it, up to what is meant for a judge."""
        return without_steering(f"{self.commit.message}\n{self.merge_message}".strip())


class History(Record):
    """The candidates, oldest first, and which commit was reverted by which."""

    candidates: tuple[Candidate, ...]
    reverted: Mapping[str, str]


def read_history(repository: Repository, start: str, window_days: int) -> History:
    """Read the window.

    Reverts are no candidates; neither is a merge that brings one commit (that commit is), nor a second commit with the
    same subject and the same counts of lines in the same paths (a backport, or what a squash was made of).
    """
    commits = repository.commits_after(start, window_days=window_days)
    changes = repository.changes_of(commits)
    reverted = _reverted(commits)
    merged = _merged(commits)
    family: dict[str, str] = {}
    message: dict[str, str] = {}
    for merge, members in merged.items():
        for member in members:
            family.setdefault(member, merge)
        if len(members) == 1:
            message[members[0]] = next(commit.message for commit in commits if commit.sha == merge)
    kept: dict[tuple[object, ...], Candidate] = {}
    for commit in commits:
        if _revert_of(commit) is not None or len(merged.get(commit.sha, ())) == 1 or not changes[commit.sha]:
            continue
        if len(commit.parents) > 1 and commit.sha not in merged:
            continue
        candidate = Candidate(
            commit=commit,
            changes=changes[commit.sha],
            family=family.get(commit.sha, commit.sha),
            merge_message=message.get(commit.sha, ""),
        )
        shape = (
            _PULL_SUFFIX.sub("", commit.subject),
            *((item.path, item.insertions, item.deletions) for item in candidate.changes),
        )
        twin = kept.get(shape)
        # A squash carries the number of its pull request and is what landed; else the first one is the original.
        if twin is None or (_PULL_SUFFIX.search(commit.subject) and not _PULL_SUFFIX.search(twin.commit.subject)):
            kept[shape] = candidate
    candidates = sorted(kept.values(), key=lambda candidate: candidate.commit.committed_at)
    return History(candidates=tuple(candidates), reverted=reverted)


def _merged(commits: Sequence[Commit]) -> dict[str, list[str]]:
    """The commits of the window that each small merge brings into its first parent's line."""
    by_sha = {commit.sha: commit for commit in commits}
    found: dict[str, list[str]] = {}
    for commit in commits:
        if len(commit.parents) != 2:
            continue
        mainline = _reach(by_sha, commit.parents[0])
        members = [sha for sha in _reach(by_sha, commit.parents[1]) if sha not in mainline]
        if 0 < len(members) <= MAX_MEMBERS:
            found[commit.sha] = members
    return found


def _reach(by_sha: Mapping[str, Commit], start: str) -> dict[str, None]:
    seen: dict[str, None] = {}
    todo = [start]
    while todo:
        sha = todo.pop()
        if sha in by_sha and sha not in seen:
            seen[sha] = None
            todo.extend(by_sha[sha].parents)
    return seen


def _reverted(commits: Sequence[Commit]) -> dict[str, str]:
    """Reverted commit to its revert. A revert that was itself reverted does not count."""
    undone: dict[str, str] = {}
    for commit in reversed(commits):
        if commit.sha in undone:
            continue
        for target in _targets(commit, commits):
            undone.setdefault(target, commit.sha)
    return undone


def _targets(commit: Commit, commits: Sequence[Commit]) -> list[str]:
    hashes = _REVERTS.findall(commit.body)
    if hashes:
        return [other.sha for other in commits if any(other.sha.startswith(name) for name in hashes)]
    subject = _revert_of(commit)
    if subject is None:
        return []
    earlier = [other for other in commits if other.committed_at <= commit.committed_at and other.sha != commit.sha]
    same = [other.sha for other in earlier if _PULL_SUFFIX.sub("", other.subject) == subject]
    return same[-1:]


def _revert_of(commit: Commit) -> str | None:
    match = _REVERT_SUBJECT.match(_PULL_SUFFIX.sub("", commit.subject))
    if match:
        return _PULL_SUFFIX.sub("", match[1])
    # A squash may tell of a revert among other things; a revert says it first.
    return "" if _REVERTS.match(commit.body) else None
