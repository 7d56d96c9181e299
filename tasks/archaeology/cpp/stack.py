"""The stack `cpp`: Debian packages of one release, the tree's own build system, no dates."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from blocks.builder.debian_packages import fetch_debian
from blocks.lake import ObjectMissingError
from blocks.recipe import Package, Recipe
from blocks.records import ObstacleRow, Phase, ReasonCode, Record
from blocks.trees import File, Tree
from tasks.archaeology.cpp.amend import amended
from tasks.archaeology.cpp.names import Names, asked_packages
from tasks.archaeology.cpp.own import is_own, own_names, without_own
from tasks.archaeology.cpp.release import release_for
from tasks.archaeology.cpp.systems import choose, describe
from tasks.archaeology.cpp.text import CODE
from tasks.archaeology.outside import ci_services
from tasks.archaeology.remedies import Fix
from tasks.archaeology.stack import Bench, Facts, Fetched, NoPlan

FETCH_VERSION = 1
_SOURCE = re.compile(r"\.(c|cc|cpp|cxx|c\+\+)$", re.I)
_TEST_FILE = re.compile(r"^(CMakeLists\.txt|meson\.build|Makefile(\.am|\.in)?|.*\.(cmake|sh|test|t|bats))$")
"""Beside the code: what names test programs, and the scripts that run them."""


class DebianResolution(Record):
    """What a list of names resolved to."""

    packages: tuple[Package, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True)
class CppPlanned:
    """A planned C or C++ build. `recipe.requirements` are the names asked for."""

    recipe: Recipe
    services: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """What the project is called: Debian's releases of it are never fetched, whoever asks for them."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Debian's own releases of the project; more is left out when apt says so."""
        return tuple(
            f"{name}, a release of the project itself" for name in self.recipe.requirements if is_own(name, self.own)
        )

    def mend(self, fix: Fix) -> "CppPlanned | None":
        """The plan with one fix of the table of remedies; None where it changes nothing."""
        recipe = amended(self.recipe, fix, Names())
        return None if recipe is None else replace(self, recipe=recipe)

    def fetch(self, bench: Bench, runtime_image: str) -> Fetched:
        """Ask apt; what it fetched goes to the package store, and a resolution that is known is not asked for again."""
        wanted = without_own(self.recipe.requirements, self.own)
        key = _key(runtime_image, wanted)
        try:
            found = DebianResolution.model_validate_json(bench.store.get(key))
        except ObjectMissingError:
            told = fetch_debian(bench.engine, bench.store, bench.settings, runtime_image, self.recipe.runtime, wanted)
            if told.failure:
                return Fetched(None, (), told.failure, told.failure)
            found = DebianResolution(packages=told.packages, absent=told.absent)
            bench.store.put_if_absent(key, found.model_dump_json().encode())
        recipe = self.recipe.model_copy(
            update={
                "packages": found.packages,
                "system_packages": tuple(f"{package.name}={package.version}" for package in found.packages),
                "requirements": tuple(name for name in wanted if name not in found.absent),
            }
        )
        brought = [package.name for package in found.packages if is_own(package.name, self.own)]
        if any(name.endswith(("-dev", "-source")) for name in brought):
            return Fetched(None, (), failure := _brings(brought), failure)
        obstacles = _obstacles(bench, self.recipe.runtime, found.absent, brought)
        return Fetched(recipe, tuple(obstacles))


class CppStack:
    """The stack `cpp`."""

    name = "cpp"

    def claims_test(self, path: str) -> bool:
        """Files of C and C++, the build files that name test programs, and scripts."""
        return bool(CODE.search(path) or _TEST_FILE.match(PurePosixPath(path).name))

    def homes(self, paths: Sequence[str], start: Tree, solution: Tree) -> Mapping[str, str]:
        """The whole tree: `plan` finds the folder of the build, and says it in the recipe's NativeBuild."""
        del start
        return dict.fromkeys(paths, ".") if any(_SOURCE.search(path) for path in solution) else {}

    def plan(self, start: Tree, solution: Tree, facts: Facts) -> CppPlanned | NoPlan | None:
        """The solution's build system; the union of what both states ask for. None for a tree without C or C++."""
        if not any(_SOURCE.search(path) for path in solution):
            return None
        both = _union(start, solution)
        names = Names()
        found = choose(solution, facts.hidden_paths)
        if found is None:
            return NoPlan(
                ReasonCode.STACK_NOT_SUPPORTED,
                "neither CMake, Meson, configure nor a Makefile with a target that tests is in the tree",
            )
        build, packages = describe(solution, found, names)
        release = release_for(solution, facts.as_of)
        recipe = Recipe(
            stack=self.name,
            runtime=release,
            requirements=tuple(sorted({*packages, *asked_packages(both, names)})),
            as_of=f"debian {release}",
            install="none",
            runner="native",
            build=build,
        )
        return CppPlanned(recipe, ci_services(solution), own_names(solution))


def _brings(names: Sequence[str]) -> str:
    return (
        f"what the tests need brings Debian's own release of the project along ({', '.join(names)}), which may hold the "
        "solution"
    )


def _union(start: Tree, solution: Tree) -> Mapping[str, File]:
    """Both states' files; where both have a path, their texts one after the other."""
    both = dict(solution)
    for path, file in start.items():
        other = solution.get(path)
        if other is None:
            both[path] = file
        elif other != file and other.link is None and file.link is None:
            both[path] = File(content=other.content + b"\n" + file.content)
    return both


def _key(runtime_image: str, names: tuple[str, ...]) -> str:
    parts = json.dumps(["debian", FETCH_VERSION, runtime_image, sorted(names)])
    return f"resolutions/{hashlib.sha256(parts.encode()).hexdigest()[:32]}.json"


def _obstacles(bench: Bench, release: str, absent: Sequence[str], brought: Sequence[str]) -> list[ObstacleRow]:
    told = [(f"{release} has no package {name}", "left out") for name in absent]
    told += [(_brings([name]), "it stays: compiled, and without what one builds with it") for name in brought]
    return [
        ObstacleRow(
            candidate_id=bench.candidate_id,
            phase=Phase.ARCHAEOLOGY,
            attempt=number,
            symptom=symptom,
            remedy=remedy,
            resolved=False,
        )
        for number, (symptom, remedy) in enumerate(told, start=1)
    ]
