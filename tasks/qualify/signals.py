"""What a session says about the change its user wanted: the paths and lines it touched, the names and words it used."""

from blocks.records import Record
from blocks.repositories import Repository
from blocks.session import Edit, EditKind, Session, Speaker
from tasks.qualify.steering import without_steering
from tasks.qualify.words import identifiers, literals, mentioned_paths, parts, references, words

_FIX_WORDS = words("fix bug resolve correct close regression issue problem")
"""What every wish for a fix says, and every fix: it tells no two apart."""
_TRIVIAL_LINE = 6
"""Shorter lines (`else:`, `pass`) say nothing about which change this is."""


class Signals(Record):
    """Everything outcomes are compared with."""

    edited: frozenset[str]
    seen: frozenset[str]
    mentioned: frozenset[str]
    removed: frozenset[str]
    """Lines the session's edits took out, stripped."""
    added: frozenset[str]
    identifiers: frozenset[str]
    words: frozenset[str]
    references: frozenset[str]
    literals: frozenset[str]

    @property
    def told(self) -> frozenset[str]:
        """Everything the user named, code or not."""
        return self.identifiers | self.words


def read_signals(session: Session, repository: Repository, commit: str) -> Signals:
    """Read them off the session. Only the user's own words count as text; the agent's guesses do not."""
    text = "\n".join(without_steering(step.text) for step in session.steps if step.speaker is Speaker.USER)
    names = identifiers(text)
    removed: set[str] = set()
    added: set[str] = set()
    for edit in session.edits:
        gone, come = _lines(edit, repository, commit)
        removed |= gone - come
        added |= come - gone
    return Signals(
        edited=session.edited_paths(),
        seen=frozenset(seen.path for seen in session.seen_files),
        mentioned=mentioned_paths(text),
        removed=significant(removed),
        added=significant(added),
        identifiers=names,
        words=(words(text) - _FIX_WORDS) | parts(names, text),
        references=references(text),
        literals=literals(text),
    )


def significant(lines: set[str] | frozenset[str]) -> frozenset[str]:
    """Lines that are long enough to tell changes apart."""
    return frozenset(line for line in lines if len(line) >= _TRIVIAL_LINE and any(mark.isalnum() for mark in line))


def _lines(edit: Edit, repository: Repository, commit: str) -> tuple[set[str], set[str]]:
    if not edit.accepted:
        return set(), set()
    if edit.kind is EditKind.REPLACE:
        gone = "\n".join(block.search for block in edit.replacements)
        come = "\n".join(block.replace for block in edit.replacements)
    else:
        gone = (repository.read(commit, edit.path) or b"").decode("utf-8", "replace")
        come = edit.content or ""
    return _stripped(gone), _stripped(come)


def _stripped(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()} - {""}
