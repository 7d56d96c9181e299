"""Packages that exist as source only: which releases, what they need, and their wheels.

A release's metadata is read from its source as data, where that can be relied on (PEP 643); else its wheel is built (see
wheel_builds.py) and the metadata is the wheel's: one run of its code instead of two. The resolver is asked again with
what is known, until it chooses nothing that is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from blocks.recipe import Package
from blocks.records import Record
from tasks.archaeology.index import Index, Question, Refused, Sdist
from tasks.archaeology.source_facts import BuildSystem, Metadata, build_system, static_metadata

MOST_ROUNDS = 30
MOST_BUILDS = 20
"""Source distributions that one resolution may build."""


class SourceBuild(Record):
    """A wheel that was built; `note` says how, for people."""

    name: str
    version: str
    note: str = ""


class Resolution(Record):
    """What a set of requirements resolved to, and what of it had to be built."""

    packages: tuple[Package, ...]
    built: tuple[SourceBuild, ...] = ()


@dataclass(frozen=True)
class Source:
    """A source distribution, fetched."""

    sdist: Sdist
    content: bytes
    system: BuildSystem


@dataclass(frozen=True)
class Wheel:
    """What a build made."""

    package: Package
    metadata: Metadata
    note: str = ""


class Builder(Protocol):
    """Builds one source distribution, apart from everything else."""

    def build(self, source: Source, question: Question, pins: Sequence[str]) -> Wheel | str:
        """The wheel, or why there is none. `pins`: what else was chosen, as requirements."""
        ...


@dataclass
class _Known:
    metadata: dict[str, dict[str, Metadata]]
    sources: dict[tuple[str, str], Source]
    wheels: dict[tuple[str, str], Wheel]


def resolve_with_sources(index: Index, builder: Builder, question: Question) -> Resolution | str:
    """Resolve and fetch; a text says why that cannot be.

    Raises:
        TransientError: the index could not be reached.
    """
    known = _Known({}, {}, {})
    for _ in range(MOST_ROUNDS):
        lock = index.lock(question, known.metadata)
        if isinstance(lock, Refused):
            new = lock.source_only - known.metadata.keys()
            if not new:
                return lock.said
            known.metadata |= {name: {} for name in sorted(new)}
            continue
        pins = tuple(f"{name}=={version}" for name, version in lock.pins.items())
        unknown = [one for one in lock.sdists if one.version not in known.metadata.get(one.name, {})]
        if not unknown:
            return _finish(index, builder, question, known, lock.sdists, pins)
        said = _learn(index, builder, question, known, unknown, pins)
        if said:
            return said
    return f"the resolver came to no end in {MOST_ROUNDS} rounds over {', '.join(sorted(known.metadata))[:300]}"


def _learn(
    index: Index, builder: Builder, question: Question, known: _Known, wanted: Sequence[Sdist], pins: Sequence[str]
) -> str:
    """Read, or build, what the resolver does not know of these releases; empty, or why that cannot be."""
    fetched = index.sdists(wanted)
    if isinstance(fetched, str):
        return fetched
    contents, facts = fetched
    for one in wanted:
        texts = facts.get(one.filename, {})
        source = Source(one, contents[one.filename], build_system(texts.get("pyproject.toml")))
        known.sources[one.name, one.version] = source
        metadata = static_metadata(texts.get("PKG-INFO"))
        if metadata is None:
            wheel = _build(builder, question, known, one, pins)
            if isinstance(wheel, str):
                return wheel
            metadata = wheel.metadata
        known.metadata.setdefault(one.name, {})[one.version] = metadata
    return ""


def _finish(
    index: Index, builder: Builder, question: Question, known: _Known, sdists: Sequence[Sdist], pins: Sequence[str]
) -> Resolution | str:
    wheels = []
    for one in sdists:
        wheel = _build(builder, question, known, one, pins)
        if isinstance(wheel, str):
            return wheel
        wheels.append(wheel)
    others = index.wheels(question, known.metadata)
    if isinstance(others, str):
        return others
    built = tuple(SourceBuild(name=one.package.name, version=one.package.version, note=one.note) for one in wheels)
    return Resolution(packages=(*others, *(wheel.package for wheel in wheels)), built=built)


def _build(builder: Builder, question: Question, known: _Known, one: Sdist, pins: Sequence[str]) -> Wheel | str:
    key = one.name, one.version
    if key not in known.wheels:
        if len(known.wheels) >= MOST_BUILDS:
            return f"more than {MOST_BUILDS} packages would have to be built from source; {one.name} is one too many"
        wheel = builder.build(known.sources[key], question, pins)
        if isinstance(wheel, str):
            return f"{one.name} {one.version} exists as source only, and building it failed: {wheel}"
        known.wheels[key] = wheel
    return known.wheels[key]
