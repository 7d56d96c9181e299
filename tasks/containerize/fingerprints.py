"""What would give a solution or a hidden test away: lines, names and files that only they hold."""

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from blocks.trees import Tree

_WINDOW = 3
_MIN_CHARACTERS = 40
_MIN_FILE_BYTES = 64
_LICENCE = re.compile(r"(^|/)(un)?(licen[cs]e|copying|notice)[^/]*$", re.I)
"""Texts that many projects share word for word: a copy says nothing of the solution."""
_LOCK = re.compile(r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|[^/]+\.lock)$")
"""Facts of an index, which other lock files hold too: only the whole file says anything of the outcome."""
_NAME = re.compile(rb"[A-Za-z_$][A-Za-z0-9_$]{5,}")
_TELLING_NAME = re.compile(rb"[^_]_+[^_]|[a-z][A-Z]|.{12}")
_EDGE = b" \t\r\n\f\v{}()[]<>;,\"'`+-*/|#&~^"
"""What quoting, diffing, commenting and minifying add or take at the ends of a line."""

Lines = tuple[bytes, ...]
Line = TypeVar("Line", str, bytes)


@dataclass(frozen=True)
class Revealed:
    """What is telling of one file that the solution or the hidden tests add or change."""

    path: str
    is_new: bool
    size: int
    size_before: int | None
    sha256: str
    windows: frozenset[Lines]
    """Windows of lines, bare of what stands at their ends."""
    names: frozenset[bytes]
    """Names that occur nowhere in the start tree."""


@dataclass(frozen=True)
class Fingerprints:
    """Windows of up to three consecutive normalised lines, by their first line; and the files they are from."""

    windows: dict[str, frozenset[tuple[str, ...]]]
    revealed: tuple[Revealed, ...] = ()

    def count(self) -> int:
        """How many windows there are."""
        return sum(len(found) for found in self.windows.values())

    @cached_property
    def names(self) -> frozenset[bytes]:
        """Every telling name."""
        return frozenset(name for file in self.revealed for name in file.names)


def normalise(text: str) -> list[str]:
    """Lines without white space at the ends, blank ones left out."""
    return [line for raw in text.splitlines() if (line := raw.strip())]


def bare_lines(content: bytes) -> list[bytes]:
    """Lines without white space and punctuation at the ends, those with nothing else left out."""
    return [line for raw in content.splitlines() if (line := raw.strip(_EDGE))]


def names_of(content: bytes) -> set[bytes]:
    """Words that may be names, six letters or longer."""
    return set(_NAME.findall(content))


def fingerprint(start: Tree, revealed: Tree) -> Fingerprints:
    """Windows of lines, names and contents that files of `revealed` have and no file of `start` has.

    A window is three lines, or a whole added run where that is shorter; windows of fewer than 40 characters say too
    little and are left out.
    """
    texts = [file.content for file in start.values() if _is_text(file.content)]
    as_text = _Telling(lambda content: normalise(content.decode("utf-8", "replace")), texts)
    as_bytes = _Telling(bare_lines, texts)
    known_names = {name for content in texts for name in names_of(content)}
    found: dict[str, set[tuple[str, ...]]] = {}
    files: list[Revealed] = []
    for path, file in sorted(revealed.items()):
        before = start.get(path)
        if before == file or file.link is not None or _LICENCE.search(path):
            continue
        content = file.content if _is_text(file.content) and not _LOCK.search(path) else b""
        for window in as_text.windows(content):
            found.setdefault(window[0], set()).add(window)
        files.append(
            Revealed(
                path=path,
                is_new=before is None,
                size=len(file.content),
                size_before=len(before.content) if before else None,
                sha256=hashlib.sha256(file.content).hexdigest() if len(file.content) >= _MIN_FILE_BYTES else "",
                windows=frozenset(as_bytes.windows(content)),
                names=frozenset(name for name in names_of(content) - known_names if _TELLING_NAME.search(name)),
            )
        )
    return Fingerprints({first: frozenset(windows) for first, windows in found.items()}, tuple(files))


def match(prints: Fingerprints, text: str) -> tuple[str, ...] | None:
    """The first window that the text holds, or None."""
    lines = normalise(text)
    for position, line in enumerate(lines):
        for window in prints.windows.get(line, ()):
            if tuple(lines[position : position + len(window)]) == window:
                return window
    return None


def two_last(path: str) -> str:
    """The last two parts of a path, which say more than a file's name alone."""
    return posixpath.join(*path.split("/")[-2:])


class _Telling(Generic[Line]):
    """Windows of a text that a set of known texts does not have."""

    def __init__(self, split: Callable[[bytes], list[Line]], known: Iterable[bytes]) -> None:
        self._split: Callable[[bytes], list[Line]] = split
        self._windows: set[tuple[Line, ...]] = set()
        self._lines: set[Line] = set()
        for content in known:
            lines = split(content)
            self._lines.update(lines)
            self._windows.update(_windows(lines, _WINDOW))

    def windows(self, content: bytes) -> Iterator[tuple[Line, ...]]:
        lines: list[Line] = self._split(content)
        for window in _windows(lines, _WINDOW):
            if window not in self._windows and any(line not in self._lines for line in window) and _long(window):
                yield window
        run: list[Line] = []
        for line in lines:
            if line not in self._lines:
                run.append(line)
                continue
            if _is_short_run(run):
                yield tuple(run)
            run = []
        if _is_short_run(run):
            yield tuple(run)


def _is_short_run(run: list[Line]) -> bool:
    return 0 < len(run) < _WINDOW and _long(run)


def _windows(lines: list[Line], size: int) -> Iterator[tuple[Line, ...]]:
    for position in range(len(lines) - size + 1):
        yield tuple(lines[position : position + size])


def _long(lines: Iterable[str] | Iterable[bytes]) -> bool:
    return sum(map(len, lines)) >= _MIN_CHARACTERS


def _is_text(content: bytes) -> bool:
    return b"\0" not in content[:8192]
