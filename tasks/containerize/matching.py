"""Whether a content holds what fingerprints tell of: exact copies, lines, or names where lines do not survive.

Names alone are weak: a solution that uses or documents a dependency has that dependency's own names. So a name is not
telling that a dependency's readable sources have as well. They are judged by their lines, and those in which any line of
the solution stands do not count; what is compiled, packed or minified says nothing for itself.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.containerize.authorship import below_packages, is_made, is_package_source
from tasks.containerize.fingerprints import Fingerprints, Lines, Revealed, bare_lines, names_of, two_last

_KEY = 12
"""Bytes of a line's end by which it is looked up: what a log or a listing puts before a line does not matter."""
_LONGEST_PREFIX = 160
_MANY = 8
_BYTECODE = re.compile(r"^(?P<folder>.*?)(__pycache__/)?(?P<stem>[^/.]+)(\.[\w-]+)*\.py[co]$")
_COMMON = ("__init__.py", "conftest.py")
"""Files that every project may have."""
_LEAST_NAMES = 3
_NAMES_SHARE = 0.4
"""Where lines do not survive, this share of one file's names must be there; minifying drops the local ones."""


@dataclass(frozen=True)
class Found:
    """What a content holds, as kind and evidence."""

    kind: str
    evidence: str
    names: frozenset[bytes] = frozenset()
    """Where names are all the evidence, those that were found."""


class Matcher:
    """Fingerprints, indexed for looking through many files; learns which names are the dependencies' own."""

    def __init__(self, prints: Fingerprints) -> None:
        self._files = prints.revealed
        self._names = prints.names
        self._theirs: set[bytes] = set()
        self._copies = {file.sha256: file for file in prints.revealed if file.sha256}
        self._sizes = {file.size for file in prints.revealed if file.sha256}
        self._anchors: dict[bytes, list[tuple[Lines, int]]] = {}
        for window in {window for file in prints.revealed for window in file.windows}:
            anchor = max(range(len(window)), key=lambda position: len(window[position]))
            if len(window[anchor]) >= _KEY:
                self._anchors.setdefault(window[anchor][-_KEY:], []).append((window, anchor))

    def find(self, path: str, content: bytes) -> Found | None:
        """The strongest thing that this file holds of the solution or the hidden tests.

        What rests on names alone is settled by `stands`, when every file was looked at.
        """
        below = below_packages(path)
        if len(content) in self._sizes and (same := self._copies.get(hashlib.sha256(content).hexdigest())):
            return Found("solution_lines" if same.windows else "solution_file", "the whole file")
        windows = self._windows(content)
        if windows and (below is None or len(windows) >= _MANY or self._covers(windows)):
            return Found("solution_lines", f"{len(windows)} windows of lines")
        made = is_made(content)
        if self._is_new_file(path, below, readable=bool(content) and not made):
            return Found("solution_file", "a name that only the solution has")
        if twin := self._bytecode_twin(path, below, content):
            return Found("solution_bytecode", twin)
        if not self._names:
            return None
        if made:
            names = frozenset(self._names_in(content))
            return Found("solution_names", f"{len(names)} names", names) if len(names) >= _LEAST_NAMES else None
        if not windows and is_package_source(path):
            self._theirs |= names_of(content) & self._names
        return None

    def stands(self, found: Found) -> bool:
        """Whether a finding is one: where it rests on names, also without those that dependencies have themselves."""
        if not found.names:
            return True
        for file in self._files:
            telling = file.names - self._theirs
            if len(found.names & telling) >= max(_LEAST_NAMES, _NAMES_SHARE * len(telling)):
                return True
        return False

    def _windows(self, content: bytes) -> set[Lines]:
        lines = bare_lines(content)
        if self._anchors.keys().isdisjoint({line[-_KEY:] for line in lines}):
            return set()
        found: set[Lines] = set()
        for position, line in enumerate(lines):
            for window, anchor in self._anchors.get(line[-_KEY:], ()):
                first = position - anchor
                here = lines[first : first + len(window)] if first >= 0 else []
                if len(here) == len(window) and all(map(_ends_with, here, window)):
                    found.add(window)
        return found

    def _covers(self, windows: set[Lines]) -> bool:
        return any(file.windows and 2 * len(windows & file.windows) >= len(file.windows) for file in self._files)

    def _is_new_file(self, path: str, below: str | None, *, readable: bool) -> bool:
        """Outside the workspace only what lines cannot tell; among packages, which have all kinds of paths, the whole one."""
        if readable and not path.startswith("app/"):
            return False
        if below is not None:
            return any(file.is_new and _same_place(below, file.path) for file in self._named())
        inside = path.removeprefix("app/") if path.startswith("app/") else None
        return any(
            file.is_new and (inside == file.path or ("/" in file.path and two_last(path) == two_last(file.path)))
            for file in self._named()
        )

    def _named(self) -> Iterator[Revealed]:
        """Files with a name of their own."""
        return (file for file in self._files if not file.path.endswith(_COMMON))

    def _bytecode_twin(self, path: str, below: str | None, content: bytes) -> str | None:
        """Compiled from a revealed file: its header holds the size of the source (PEP 552), its constants the names."""
        named = _BYTECODE.match(path if below is None else below)
        if not named or len(content) < 16:
            return None
        source = f"{named['folder']}{named['stem']}.py"
        names = self._names_in(content)
        for file in self._files:
            if below is not None and not _same_place(source, file.path):
                continue
            if two_last(file.path) != two_last(source) and file.path != f"{named['stem']}.py":
                continue
            if file.is_new and not file.path.endswith(_COMMON):
                return "compiled from a file that only the solution has"
            is_timed = content[4:8] == bytes(4)
            size = int.from_bytes(content[12:16], "little")
            if is_timed and size == file.size != file.size_before:
                return "compiled from a source of the solution's size"
            if names & file.names:
                return f"{len(names & file.names)} names"
        return None

    def _names_in(self, content: bytes) -> set[bytes]:
        words = names_of(content)
        # In bytecode a long name's length and type stand before it as letters.
        words |= {word[cut:] for word in words if len(word) >= 48 for cut in (1, 2)}
        return words & self._names


def _ends_with(line: bytes, wanted: bytes) -> bool:
    before = line[: -len(wanted)]
    return (
        line.endswith(wanted) and len(before) <= _LONGEST_PREFIX and not (before[-1:].isalnum() or before[-1:] == b"_")
    )


def _same_place(below: str, path: str) -> bool:
    """Whether a path below the packages is that of a file of the repository, installed."""
    return below == path.removeprefix("src/")


def strings_of(document: object) -> Iterator[str]:
    """Every string of a JSON document, keys too."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for key, value in document.items():
            yield str(key)
            yield from strings_of(value)
    elif isinstance(document, list):
        for value in document:
            yield from strings_of(value)
