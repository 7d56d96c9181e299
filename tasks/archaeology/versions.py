"""Which Python a project is rebuilt on: what it allows, what it says it is tested on, what there was at the time."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from blocks.engine.runtime import DEFAULT_PYTHON, PYTHON_RELEASES

_PATCHES = {"3.9": "3.9.2", "3.11": "3.11.2", "3.13": "3.13.5"}
"""What the Debian releases carry."""
_RELEASED = {
    "3.9": datetime(2020, 10, 5, tzinfo=UTC),
    "3.11": datetime(2022, 10, 24, tzinfo=UTC),
    "3.13": datetime(2024, 10, 7, tzinfo=UTC),
}


def runtimes(requires: Iterable[str | None], named: Sequence[str], as_of: datetime) -> tuple[str, ...]:
    """The versions that can be used, best first; empty where none is allowed.

    Allowed is what every `requires-python` takes. Of these come first those that were released by then, of these those
    that the project names (classifiers, tox, CI) or that are nearest to one, of these the default, then the newest. A
    project from before all of them gets the oldest.
    """
    specifiers = [text for text in requires if text]
    allowed = [version for version in PYTHON_RELEASES if all(_takes(text, version) for text in specifiers)]
    known = [_minor(version) for version in named]

    def rank(version: str) -> tuple[bool, int, bool, int]:
        there = _RELEASED[version] <= as_of
        age = -_minor(version) if there else _minor(version)
        apart = min((abs(_minor(version) - minor) for minor in known), default=0)
        return (not there, apart, version != DEFAULT_PYTHON or not there, age)

    return tuple(sorted(allowed, key=rank))


def _takes(specifier: str, version: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(_PATCHES[version])
    except InvalidSpecifier:
        return True


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
