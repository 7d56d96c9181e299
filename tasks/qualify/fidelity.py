"""Whether the session happened on this commit: what it saw of files before it edited them, against the commit's files.

Fidelity = matching checks / all checks. A check is a file's whole content seen before any edit of it, or the text that
the first edit of a file replaced. Redacted places match anything; line ends and blanks at the end do not count.
"""

import re

from blocks.records import Record
from blocks.repositories import Repository
from blocks.session import EditKind, Session

_PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]+-\d+\]|<(?:user|host|mail|phone|name|ip)-\d+>")
"""What the redaction of ingest leaves behind."""


class Fidelity(Record):
    """The paths that were checked, by result."""

    matching: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    """Seen in the session, but not in the commit: files outside version control, or another repository."""

    @property
    def share(self) -> float | None:
        """0..1; None where nothing could be checked."""
        checks = len(self.matching) + len(self.differing) + len(self.absent)
        return round(len(self.matching) / checks, 3) if checks else None


def measure_fidelity(session: Session, repository: Repository, commit: str) -> Fidelity:
    """Check everything the session shows of the start state; each path once."""
    results: dict[str, list[str]] = {"matching": [], "differing": [], "absent": []}
    known = {entry.path for entry in repository.tree_paths(commit) if entry.size is not None}
    for path, whole, text in _sightings(session):
        if path not in known:
            results["absent"].append(path)
            continue
        content = (repository.read(commit, path) or b"").decode("utf-8", "replace")
        results["matching" if matches(text, content, whole=whole) else "differing"].append(path)
    return Fidelity(**{name: tuple(paths) for name, paths in results.items()})


def matches(seen: str, content: str, *, whole: bool) -> bool:
    """Whether `content` is (or, unless `whole`, holds) what was seen; placeholders stand for any text."""
    seen, content = _plain(seen), _plain(content)
    pieces = _PLACEHOLDER.split(seen)
    if whole and len(pieces) == 1:
        return seen == content
    if whole and not (content.startswith(pieces[0]) and content.endswith(pieces[-1])):
        return False
    position = 0
    for piece in pieces[:-1] if whole else pieces:
        place = content.find(piece, position)
        if place < 0:
            return False
        position = place + len(piece)
    return not whole or position <= len(content) - len(pieces[-1])


def _sightings(session: Session) -> list[tuple[str, bool, str]]:
    found: dict[str, tuple[str, bool, str]] = {}
    for seen in session.seen_files:
        if not seen.after_edit:
            found.setdefault(seen.path, (seen.path, True, seen.content))
    edited: set[str] = set()
    for edit in session.edits:
        if not edit.accepted or edit.path in edited:
            continue
        edited.add(edit.path)
        if edit.kind is EditKind.REPLACE and edit.replacements and edit.replacements[0].search.strip():
            found.setdefault(edit.path, (edit.path, False, edit.replacements[0].search))
    return list(found.values())


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
