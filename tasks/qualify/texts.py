"""What each commit of the window says and touches, as sets of terms: what the ranking compares with the user's words."""

from collections.abc import Mapping
from typing import NamedTuple

from blocks.path_kinds import PathKind, kind_of
from blocks.repositories import LineEdits, Repository
from tasks.qualify.history import Candidate
from tasks.qualify.signals import Signals
from tasks.qualify.words import identifiers, names, parts, words

MAX_READ = 200
"""Commits whose lines are read; the rest of a busy window is left out by paths and messages first."""
MAX_LINES = 5000


class Text(NamedTuple):
    """The terms of one commit, by where they stand."""

    message: frozenset[str]
    subject: frozenset[str]
    diff: frozenset[str]
    tests: frozenset[str]
    """What the added lines of tests name: a test repeats what the user saw."""
    paths: frozenset[str]
    literals: frozenset[str]
    """Those of the user's values that its added lines hold."""


def read_texts(
    candidates: tuple[Candidate, ...], repository: Repository, signals: Signals
) -> tuple[dict[str, Text], dict[str, Mapping[str, LineEdits]]]:
    """What each commit says and touches; for the most promising MAX_READ of them."""

    def promise(candidate: Candidate) -> int:
        shared = len(signals.told & said(candidate.message))
        touched = {change.path for change in candidate.changes}
        return shared + 3 * len(touched & signals.edited) + len(touched & signals.seen) + bool(candidate.source_paths)

    chosen = sorted(candidates, key=promise, reverse=True)[:MAX_READ]
    texts: dict[str, Text] = {}
    edits: dict[str, Mapping[str, LineEdits]] = {}
    for candidate in chosen:
        lines: Mapping[str, LineEdits] = {}
        if sum(change.insertions + change.deletions for change in candidate.changes) <= MAX_LINES:
            lines = repository.edited_lines(candidate.commit.sha)
        patch = "\n".join(
            text
            for edit in lines.values()
            for hunk in edit.hunks
            for text in (hunk.heading, *hunk.removed, *hunk.added)
        )
        paths = " ".join(change.path for change in candidate.changes)
        known = names(patch)
        added = "\n".join(text for edit in lines.values() for hunk in edit.hunks for text in hunk.added)
        tests = "\n".join(
            text
            for path, edit in lines.items()
            if kind_of(path) is PathKind.TEST
            for hunk in edit.hunks
            for text in hunk.added
        )
        texts[candidate.commit.sha] = Text(
            message=said(candidate.message),
            subject=said(candidate.message.split("\n", 1)[0]),
            diff=known | parts(known & identifiers(patch), patch) | words(patch),
            tests=names(tests) | words(tests),
            literals=frozenset(value for value in signals.literals if value in added or value in candidate.message),
            paths=names(paths.replace("/", " ").replace(".", " ")) | words(paths),
        )
        edits[candidate.commit.sha] = lines
    return texts, edits


def said(message: str) -> frozenset[str]:
    """Every term of a message."""
    named = identifiers(message)
    return named | words(message) | parts(named, message)
