"""What would give a solution or a hidden test away: runs of lines that only they hold."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from blocks.trees import Tree

_WINDOW = 3
_MIN_CHARACTERS = 40


@dataclass(frozen=True)
class Fingerprints:
    """Windows of up to three consecutive normalised lines, by their first line."""

    windows: dict[str, frozenset[tuple[str, ...]]]

    def count(self) -> int:
        """How many windows there are."""
        return sum(len(found) for found in self.windows.values())


def normalise(text: str) -> list[str]:
    """Lines without white space at the ends, blank ones left out."""
    return [line for raw in text.splitlines() if (line := raw.strip())]


def fingerprint(start: Tree, revealed: Tree) -> Fingerprints:
    """Windows of lines that files of `revealed` have and no file of `start` has.

    A window is three lines, or a whole added run where that is shorter; windows of fewer than 40 characters say too
    little and are left out.
    """
    known = {window for file in start.values() for window in _windows(normalise(_text(file.content)), _WINDOW)}
    known_lines = {line for window in known for line in window} | {
        line for file in start.values() for line in normalise(_text(file.content))
    }
    found: dict[str, set[tuple[str, ...]]] = {}
    for path, file in revealed.items():
        before = start.get(path)
        if before == file or file.link is not None:
            continue
        for window in _telling(normalise(_text(file.content)), known, known_lines):
            found.setdefault(window[0], set()).add(window)
    return Fingerprints({first: frozenset(windows) for first, windows in found.items()})


def match(prints: Fingerprints, text: str) -> tuple[str, ...] | None:
    """The first window that the text holds, or None."""
    lines = normalise(text)
    for position, line in enumerate(lines):
        for window in prints.windows.get(line, ()):
            if tuple(lines[position : position + len(window)]) == window:
                return window
    return None


def _telling(lines: list[str], known: set[tuple[str, ...]], known_lines: set[str]) -> Iterator[tuple[str, ...]]:
    for window in _windows(lines, _WINDOW):
        if window not in known and not all(line in known_lines for line in window) and _long(window):
            yield window
    run: list[str] = []
    for line in [*lines, ""]:
        if line and line not in known_lines:
            run.append(line)
        else:
            if 0 < len(run) < _WINDOW and _long(run):
                yield tuple(run)
            run = []


def _windows(lines: list[str], size: int) -> Iterator[tuple[str, ...]]:
    for position in range(len(lines) - size + 1):
        yield tuple(lines[position : position + size])


def _long(lines: Iterable[str]) -> bool:
    return sum(map(len, lines)) >= _MIN_CHARACTERS


def _text(content: bytes) -> str:
    return "" if b"\0" in content[:8192] else content.decode("utf-8", "replace")
