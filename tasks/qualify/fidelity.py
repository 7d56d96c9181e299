"""Whether the session happened on this commit: what it saw of files before it edited them, against the commit's files.

Fidelity = matching checks / all checks. A check is a file's whole content seen before any edit of it, or the text that
the first edit of a file replaced. Redacted places match anything; line ends and blanks at the end do not count.
"""

import re

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Record
from blocks.repositories import Repository
from blocks.repositories.ignoring import ignored
from blocks.repositories.records import LINK_MODE
from blocks.session import EditKind, Session
from tasks.qualify.harmless import untouched_until

_PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]+-\d+\]|<(?:user|host|mail|phone|name|ip)-\d+>")
"""What the redaction of ingest leaves behind."""


class Sighting(Record):
    """What the session first shows of one path."""

    path: str
    step: int
    whole: bool
    """True: `text` is all of the file; False: the file holds it somewhere."""
    text: str
    early: bool
    """Seen while nothing but recorded edits can have changed the workspace."""

    @property
    def is_redacted(self) -> bool:
        """Whether some of it was replaced by a placeholder."""
        return bool(_PLACEHOLDER.search(self.text))


class Fidelity(Record):
    """The paths that were checked, by result."""

    matching: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    """Seen in the session, but not in the commit: files the user had not committed, or another repository."""
    aside: tuple[str, ...] = ()
    """Not in the commit and no check: ignored by `.gitignore`, generated, or seen after a command that may have made them."""

    @property
    def checks(self) -> int:
        """How many paths were checked."""
        return len(self.matching) + len(self.differing) + len(self.absent)

    @property
    def share(self) -> float | None:
        """0..1; None where nothing could be checked."""
        return round(len(self.matching) / self.checks, 3) if self.checks else None


def measure_fidelity(session: Session, repository: Repository, commit: str) -> Fidelity:
    """Check everything the session shows of the start state; each path once.

    Links, and what lies below one, are left out: a tool shows what they point to.
    """
    entries = {entry.path: entry for entry in repository.tree_paths(commit)}
    links = {path for path, entry in entries.items() if entry.mode == LINK_MODE or entry.size is None}
    seen = [one for one in sightings(session) if not any(_lies_at(one.path, link) for link in links)]
    missing = [one for one in seen if one.path not in entries]
    unversioned = ignored(repository, commit, [one.path for one in missing])
    results: dict[str, list[str]] = {"matching": [], "differing": [], "absent": [], "aside": []}
    for one in seen:
        if one.path in entries:
            content = (repository.read(commit, one.path) or b"").decode("utf-8", "replace")
            results["matching" if matches(one.text, content, whole=one.whole) else "differing"].append(one.path)
        elif one.path in unversioned or not one.early or kind_of(one.path) is PathKind.GENERATED:
            results["aside"].append(one.path)
        else:
            results["absent"].append(one.path)
    return Fidelity(**{name: tuple(paths) for name, paths in results.items()})


def _lies_at(path: str, link: str) -> bool:
    return path == link or path.startswith(f"{link}/")


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


def sightings(session: Session) -> list[Sighting]:
    """What the session first shows of each path before it edited it: the whole file where it shows that."""
    limit = untouched_until(session)
    found: dict[str, Sighting] = {}
    for seen in session.seen_files:
        if not seen.after_edit and seen.path not in found:
            early = limit is None or seen.step < limit
            found[seen.path] = Sighting(path=seen.path, step=seen.step, whole=True, text=seen.content, early=early)
    edited: set[str] = set()
    for edit in session.edits:
        if not edit.accepted or edit.path in edited:
            continue
        edited.add(edit.path)
        if edit.path not in found and edit.kind is EditKind.REPLACE and edit.replacements:
            text, early = edit.replacements[0].search, limit is None or edit.step < limit
            if text.strip():
                found[edit.path] = Sighting(path=edit.path, step=edit.step, whole=False, text=text, early=early)
    return list(found.values())


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
