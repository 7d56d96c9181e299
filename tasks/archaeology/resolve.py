"""Fetch: requirements become packages in the store, as of a date. The only step of archaeology with a network.

In the fetch container are only requirement strings, and nothing that is fetched runs there. Where a package exists as
source only, it is built in a container of its own without a network (wheel_builds.py), and an obstacle says so.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import ValidationError

from blocks.engine import Engine
from blocks.lake import ObjectMissingError, ObjectStore
from blocks.recipe import Package
from blocks.records import ObstacleRow, Phase
from blocks.settings import Settings
from tasks.archaeology.index import ContainerIndex, Question, index_spec
from tasks.archaeology.source_packages import Resolution, resolve_with_sources
from tasks.archaeology.wheel_builds import WheelBuilder

RESOLVE_VERSION = 2


@dataclass(frozen=True)
class Attempt:
    """One way to resolve: which requirements, up to when, and whether source packages may be built."""

    remedy: str
    requirements: tuple[str, ...]
    as_of: datetime
    source_allowed: bool

    def asks_as(self, other: "Attempt") -> bool:
        """Whether both ask for the same."""
        mine = (set(self.requirements), self.as_of, self.source_allowed)
        return mine == (set(other.requirements), other.as_of, other.source_allowed)


@dataclass(frozen=True)
class Resolved:
    """The first attempt that worked (None: none did), and what stood in the way before."""

    attempt: Attempt | None
    packages: tuple[Package, ...]
    obstacles: tuple[ObstacleRow, ...]
    failure: str = ""


def attempts(full: Sequence[str], union: Sequence[str], solution_only: Sequence[str], as_of: datetime) -> list[Attempt]:
    """The ways to resolve, in the order they are tried; ways that ask for the same are tried once."""
    later = as_of + timedelta(days=30)
    ways = [
        Attempt("wheels only, as of the outcome", tuple(full), as_of, source_allowed=False),
        Attempt("without the project's optional features", tuple(union), as_of, source_allowed=False),
        Attempt("source packages built in their own containers", tuple(union), as_of, source_allowed=True),
        Attempt("the solution's requirements alone", tuple(solution_only), as_of, source_allowed=True),
        Attempt("thirty days after the outcome", tuple(solution_only), later, source_allowed=True),
    ]
    return [way for number, way in enumerate(ways) if not any(way.asks_as(other) for other in ways[:number])]


def resolve(
    engine: Engine,
    store: ObjectStore,
    settings: Settings,
    *,
    candidate_id: str,
    runtime_image: str,
    runtime: str,
    project: str | None,
    ways: Iterable[Attempt],
) -> Resolved:
    """Try the ways in turn. The project itself is never fetched, whoever asks for it.

    Raises:
        TransientError: the index could not be reached.
    """
    obstacles: list[ObstacleRow] = []
    failure = ""

    def note(symptom: str, remedy: str, *, resolved: bool) -> None:
        obstacles.append(
            ObstacleRow(
                candidate_id=candidate_id,
                phase=Phase.ARCHAEOLOGY,
                attempt=len(obstacles) + 1,
                symptom=symptom,
                remedy=remedy,
                resolved=resolved,
            )
        )

    failed: dict[str, str] = {}
    for way in ways:
        key = _resolution_key(way, runtime_image, project)
        found: Resolution | str | None = _known(store, key)
        if found is None:
            found = _fetch(engine, store, settings, way, runtime_image, runtime, project, failed)
            if isinstance(found, Resolution):
                store.put_if_absent(key, found.model_dump_json().encode())
        is_found = isinstance(found, Resolution)
        if obstacles:
            obstacles[-1] = obstacles[-1].model_copy(update={"remedy": way.remedy, "resolved": is_found})
        if isinstance(found, Resolution):
            for built in found.built:
                how = "its wheel was built in a container of its own, unprivileged and without a network"
                remedy = f"{how}, {built.note}" if built.note else how
                note(f"{built.name} {built.version} exists as source only", remedy, resolved=True)
            return Resolved(way, found.packages, tuple(obstacles))
        failure = found
        note(f"{way.remedy}: {failure[-300:]}", "none left", resolved=False)
    return Resolved(None, (), tuple(obstacles), failure)


def _fetch(
    engine: Engine,
    store: ObjectStore,
    settings: Settings,
    way: Attempt,
    runtime_image: str,
    runtime: str,
    project: str | None,
    failed: dict[str, str],
) -> Resolution | str:
    question = Question(way.requirements, way.as_of, runtime, without=project)
    with engine.container(index_spec(settings, runtime_image)) as box:
        index = ContainerIndex(box, store, settings)
        if way.source_allowed:
            builder = WheelBuilder(engine, store, settings, runtime_image, index, failed=failed)
            return resolve_with_sources(index, builder, question)
        packages = index.wheels(question, {})
    return packages if isinstance(packages, str) else Resolution(packages=packages)


def _resolution_key(way: Attempt, runtime_image: str, project: str | None) -> str:
    parts = [
        RESOLVE_VERSION,
        runtime_image,
        project,
        sorted(way.requirements),
        way.as_of.isoformat(),
        way.source_allowed,
    ]
    return f"resolutions/{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}.json"


def _known(store: ObjectStore, key: str) -> Resolution | None:
    try:
        return Resolution.model_validate_json(store.get(key))
    except (ObjectMissingError, ValidationError):  # Another version's resolution is none.
        return None
