"""Fetch: requirements become packages in the store, as of a date. The only step of archaeology with a network.

None of the repository's code is in the fetch container, only requirement strings. Wheels run nothing; where a package
exists as source only, building it runs that package's code: the named, recorded exception, in its own container.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from pydantic import ValidationError

from blocks.builder.packages import keep_package
from blocks.engine import Container, ContainerSpec, Engine, Network, Role, fetch_environment
from blocks.errors import TransientError
from blocks.lake import ObjectMissingError, ObjectStore
from blocks.recipe import Package
from blocks.records import ObstacleRow, Phase, Record
from blocks.settings import Settings
from blocks.trees import File

RESOLVE_VERSION = 1
_NETWORK_FAULT = re.compile(
    r"error sending request|dns error|connection (refused|reset)|timed out|temporary failure in name resolution|HTTP (429|5\d\d)",
    re.I,
)
_FOLDER = "/tmp/fetch"


class Resolution(Record):
    """What a set of requirements resolved to."""

    packages: tuple[Package, ...]


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
        Attempt("source packages built in their own container", tuple(union), as_of, source_allowed=True),
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
    for number, way in enumerate(ways, start=1):
        key = _resolution_key(way, runtime_image, project)
        found = _known(store, key)
        if found is None:
            packages, failure = _fetch(engine, store, settings, way, runtime_image, runtime, project)
            if packages is not None:
                found = Resolution(packages=packages)
                store.put_if_absent(key, found.model_dump_json().encode())
        if obstacles:
            obstacles[-1] = obstacles[-1].model_copy(update={"remedy": way.remedy, "resolved": found is not None})
        if found is not None:
            return Resolved(way, found.packages, tuple(obstacles))
        obstacles.append(
            ObstacleRow(
                candidate_id=candidate_id,
                phase=Phase.ARCHAEOLOGY,
                attempt=number,
                symptom=f"{way.remedy}: {failure[-300:]}",
                remedy="none left",
                resolved=False,
            )
        )
    return Resolved(None, (), tuple(obstacles), failure)


def _fetch(
    engine: Engine,
    store: ObjectStore,
    settings: Settings,
    way: Attempt,
    runtime_image: str,
    runtime: str,
    project: str | None,
) -> tuple[tuple[Package, ...] | None, str]:
    environment, files = fetch_environment(settings)
    spec = ContainerSpec(
        image=runtime_image,
        role=Role.FETCH,
        network=Network.FETCH,
        deadline_sec=2 * settings.timeouts.fetch_sec + 60,
        environment=tuple(environment.items()),
        memory_files=files,
    )
    with engine.container(spec) as box:
        box.put_tree({"requirements.in": File(content="\n".join(way.requirements).encode() + b"\n")}, _FOLDER)
        compile_argv = ["uv", "pip", "compile", f"{_FOLDER}/requirements.in", "--python-version", runtime]
        compile_argv += ["--exclude-newer", way.as_of.strftime("%Y-%m-%dT%H:%M:%SZ"), "--no-header", "--no-annotate"]
        compile_argv += ["--generate-hashes", "--no-progress", "-q", "-o", f"{_FOLDER}/lock.txt"]
        compile_argv += ["--no-emit-package", project] if project else []
        compile_argv += [] if way.source_allowed else ["--only-binary", ":all:"]
        problem = _run(box, compile_argv, settings.timeouts.fetch_sec)
        if problem:
            return None, problem
        pip = ["python3", "-m", "pip", "--disable-pip-version-check", "-q"]
        what = ["--no-deps", "--require-hashes", "-r", f"{_FOLDER}/lock.txt"]
        if way.source_allowed:
            argv = [*pip, "wheel", *what, "-w", f"{_FOLDER}/wheels"]
        else:
            argv = [*pip, "download", "--only-binary", ":all:", *what, "-d", f"{_FOLDER}/wheels"]
        problem = _run(box, ["mkdir", "-p", f"{_FOLDER}/wheels"], 30) or _run(box, argv, settings.timeouts.fetch_sec)
        if problem:
            return None, problem
        wheels = box.get_tree(f"{_FOLDER}/wheels", max_bytes=2 << 30)
    packages = []
    for filename, file in sorted(wheels.items()):
        try:
            name, version, _, _ = parse_wheel_filename(filename)
        except InvalidWheelFilename as error:
            return None, str(error)
        if project is None or name != canonicalize_name(project):
            packages.append(keep_package(store, name, str(version), filename, file.content))
    return tuple(packages), ""


def _run(box: Container, argv: Sequence[str], timeout_sec: int) -> str:
    """Empty when it worked, else the tail of what it said. Raises TransientError for faults of the network."""
    done = box.run(argv, timeout_sec=timeout_sec)
    if done.exit_code == 0:
        return ""
    said = done.output[-2000:].strip() or f"{argv[0]} ended with {done.exit_code}"
    if done.timed_out or _NETWORK_FAULT.search(said):
        raise TransientError(f"fetching packages: the index cannot be reached or is too slow: {said[-300:]}")
    return said


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
