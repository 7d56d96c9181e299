"""Python as a stack: manifests read as data, resolved by uv as of the outcome's date, wheels into the package store."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from blocks.recipe import Package, Recipe
from blocks.records import ObstacleRow, Phase
from blocks.trees import Tree
from tasks.archaeology.amend import amend
from tasks.archaeology.plan import Plan, plan
from tasks.archaeology.python_project import python_home
from tasks.archaeology.python_system import System, system_layer
from tasks.archaeology.remedies import Fix
from tasks.archaeology.resolve import Attempt, attempts, resolve
from tasks.archaeology.stack import Bench, Facts, Fetched, NoPlan

_OLD_PIP = ("3.9",)
_BESIDE = re.compile(
    r"(tests?|testing|docs?|examples?|benchmarks?|scripts?|tools?|setup|conftest|noxfile|tasks|test_.*|_.*)$"
)
_PIP_AS_OF = datetime(2024, 7, 1, tzinfo=UTC)


@dataclass(frozen=True)
class PythonPlanned:
    """A planned Python build."""

    plan: Plan

    @property
    def recipe(self) -> Recipe:
        """The recipe, its packages still empty."""
        return self.plan.recipe

    @property
    def left_out(self) -> tuple[str, ...]:
        """Local paths and addresses among the requirements, and what does not parse."""
        return self.plan.left_out

    @property
    def services(self) -> tuple[str, ...]:
        """Of CI jobs and development containers."""
        return self.plan.services

    def mend(self, fix: Fix) -> "PythonPlanned | None":
        """The plan with one fix of the table of remedies; None where it changes nothing."""
        amended = amend(self.plan, fix)
        return replace(self, plan=amended) if amended is not None else None

    def fetch(self, bench: Bench, runtime_image: str) -> Fetched:
        """Debian packages first, then try the ways to resolve in turn; the recipe says what was asked for in the end."""
        system = system_layer(bench, self.recipe, runtime_image)
        before = _left_out(bench, system)
        found = resolve(
            bench.engine,
            bench.store,
            bench.settings,
            candidate_id=bench.candidate_id,
            runtime_image=system.image,
            runtime=self.recipe.runtime,
            project=self.recipe.project_name or only_package(self.plan.modules),
            ways=attempts(self.plan.full, self.plan.union, self.plan.solution_only, self.plan.as_of),
        )
        obstacles = (*before, *found.obstacles)
        if found.attempt is None:
            return Fetched(None, obstacles, found.failure, found.failure)
        recipe = self.recipe.model_copy(
            update={
                "installer": self._installer(bench, runtime_image),
                "packages": (*system.packages, *found.packages),
                "system_packages": system.names,
                "requirements": found.attempt.requirements,
                "as_of": found.attempt.as_of.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        )
        return Fetched(recipe, obstacles)

    def _installer(self, bench: Bench, runtime_image: str) -> Package | None:
        """A wheel of pip, where the runtime's own cannot install into another environment (before 22.3)."""
        if self.recipe.runtime not in _OLD_PIP:
            return None
        way = Attempt("pip for the published Dockerfile", ("pip>=22.3",), _PIP_AS_OF, source_allowed=False)
        found = resolve(
            bench.engine,
            bench.store,
            bench.settings,
            candidate_id=bench.candidate_id,
            runtime_image=runtime_image,
            runtime=self.recipe.runtime,
            project=None,
            ways=[way],
        )
        return found.packages[0] if found.packages else None


class PythonStack:
    """The stack `python`."""

    name = "python"

    def claims_test(self, path: str) -> bool:
        """Python files."""
        return path.endswith(".py")

    def homes(self, paths: Sequence[str], start: Tree, solution: Tree) -> Mapping[str, str]:
        """By manifests that both states have."""
        both = {path: file for path, file in solution.items() if path in start}
        found = {path: python_home(path, both) for path in paths}
        return {path: home for path, home in found.items() if home is not None}

    def plan(self, start: Tree, solution: Tree, facts: Facts) -> PythonPlanned | NoPlan | None:
        """The union of what both states declare."""
        planned = plan(start, solution, as_of=facts.as_of, nearest_tag=facts.nearest_tag, folder=facts.folder)
        return PythonPlanned(planned) if isinstance(planned, Plan) else planned


def only_package(modules: Sequence[tuple[str, str]]) -> str | None:
    """What a project that names itself nowhere is probably called: its one package, beside tests and tools."""
    names = {name for name, folder in modules if folder in (".", "src") and not _BESIDE.match(name)}
    return names.pop() if len(names) == 1 else None


def _left_out(bench: Bench, system: System) -> Sequence[ObstacleRow]:
    why = system.failure[-300:] or "Debian has no package of this name"
    symptoms = [f"{name}: {why}" for name in system.absent]
    return [
        ObstacleRow(
            candidate_id=bench.candidate_id,
            phase=Phase.ARCHAEOLOGY,
            attempt=number,
            symptom=symptom,
            remedy="left out",
            resolved=False,
        )
        for number, symptom in enumerate(symptoms, start=1)
    ]
