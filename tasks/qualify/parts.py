"""Which hunks of an outcome belong to it, which came along, and what happened around it: follow-ups, authors, pull requests."""

import re
from datetime import timedelta

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Record
from blocks.repositories import Commit, Hunk, LineEdits, Repository
from tasks.qualify.history import Candidate, History
from tasks.qualify.signals import Signals, significant
from tasks.qualify.words import identifiers, names, words

FOLLOW_UP_DAYS = 30
_MAX_HUNKS = 200
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*|--|;;|\"\"\"|''')|^\s*$")
_IMPORT = re.compile(r"^\s*(?:import\b|from\b.*\bimport\b|#include\b|use\b|require\b|const .*require\()")
_VERSION = re.compile(r"version", re.IGNORECASE)


class Part(Record):
    """One hunk of the outcome."""

    path: str
    line: int
    """Its first line after the commit."""
    belongs: bool
    why: str


class FollowUp(Record):
    """A later commit that goes on with the outcome's work."""

    commit: str
    subject: str
    why: str


class Authorship(Record):
    """Who made the outcome. People are told apart by the hash of their address."""

    same_as_start: bool
    """The author of the start commit made it too."""
    commits_before: int
    """Of the same author among the hundred commits before the start."""


def parts_of(repository: Repository, sha: str, signals: Signals) -> tuple[Part, ...]:
    """Every hunk, in order of paths: tests and source belong, unless they say nothing or only rename the version."""
    edits = repository.edited_lines(sha)
    touched = {path for path, edit in edits.items() if kind_of(path) is PathKind.SOURCE and _is_near(edit, signals)}
    found = [
        _part(edit, hunk, signals, alone=not touched or path in touched)
        for path, edit in sorted(edits.items())
        for hunk in edit.hunks
    ]
    return tuple(found[:_MAX_HUNKS])


def follow_ups(repository: Repository, history: History, chosen: Candidate) -> tuple[FollowUp, ...]:
    """Later commits that name the outcome, or change again the lines it added, within a month."""
    until = chosen.commit.committed_at + timedelta(days=FOLLOW_UP_DAYS)
    added = {path: edit.added for path, edit in repository.edited_lines(chosen.commit.sha).items()}
    found = []
    for other in history.candidates:
        when = other.commit.committed_at
        if not chosen.commit.committed_at < when <= until or other.family == chosen.family:
            continue
        if chosen.commit.sha[:7] in other.message:
            found.append(FollowUp(commit=other.commit.sha, subject=other.commit.subject[:120], why="names it"))
        elif other.source_paths & chosen.source_paths:
            again = repository.edited_lines(other.commit.sha)
            lines = {line for path in other.source_paths & added.keys() for line in _removed(again, path) & added[path]}
            if significant(lines):
                why = f"changes {len(significant(lines))} of its lines again"
                found.append(FollowUp(commit=other.commit.sha, subject=other.commit.subject[:120], why=why))
    return tuple(found[:10])


def authorship_of(repository: Repository, start: Commit, outcome: Commit) -> Authorship:
    """What is known of the outcome's author."""
    before = repository.commits_before(start.sha, limit=100)
    return Authorship(
        same_as_start=outcome.author_hash == start.author_hash,
        commits_before=sum(one.author_hash == outcome.author_hash for one in before),
    )


def _removed(edits: dict[str, LineEdits], path: str) -> frozenset[str]:
    return edits[path].removed if path in edits else frozenset()


def _is_near(edit: LineEdits, signals: Signals) -> bool:
    return edit.path in signals.edited or any(_shares(hunk, signals) for hunk in edit.hunks)


def _shares(hunk: Hunk, signals: Signals) -> bool:
    text = "\n".join((hunk.heading, *hunk.removed, *hunk.added))
    return bool(signals.identifiers & (names(text) | identifiers(text)) or signals.words & words(text))


def _part(edit: LineEdits, hunk: Hunk, signals: Signals, *, alone: bool) -> Part:
    belongs, why = _judged(edit.path, hunk, signals, alone=alone)
    return Part(path=edit.path, line=hunk.new_start, belongs=belongs, why=why)


def _judged(path: str, hunk: Hunk, signals: Signals, *, alone: bool) -> tuple[bool, str]:
    kind = kind_of(path)
    if kind is PathKind.TEST:
        return True, "test"
    if kind is not PathKind.SOURCE:
        return False, kind.value
    lines = [*hunk.removed, *hunk.added]
    if all(_COMMENT.match(line) for line in lines):
        return False, "comments and blank lines only"
    if "".join("".join(hunk.removed).split()) == "".join("".join(hunk.added).split()):
        return False, "layout only"
    if all(_VERSION.search(line) for line in lines):
        return False, "version only"
    if significant(frozenset(line.strip() for line in hunk.removed)) & signals.removed:
        return True, "removes lines that the session edited"
    if _shares(hunk, signals):
        return True, "names what the user named"
    if all(_IMPORT.match(line) for line in lines):
        return True, "imports"
    return (
        (True, "source of a file that is concerned") if alone else (False, "another file, and nothing the user named")
    )
