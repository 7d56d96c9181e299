"""Python as a stack: manifests read as data, resolved by uv as of the outcome's date, wheels into the package store."""

from dataclasses import dataclass

from blocks.recipe import Recipe
from blocks.trees import Tree
from tasks.archaeology.plan import Plan, plan
from tasks.archaeology.resolve import attempts, resolve
from tasks.archaeology.stack import Bench, Facts, Fetched, NoPlan


@dataclass(frozen=True)
class PythonPlanned:
    """A planned Python build."""

    plan: Plan
    facts: Facts

    @property
    def recipe(self) -> Recipe:
        """The recipe, its packages still empty."""
        return self.plan.recipe

    @property
    def left_out(self) -> tuple[str, ...]:
        """Local paths and addresses among the requirements, and what does not parse."""
        return self.plan.left_out

    def fetch(self, bench: Bench, runtime_image: str) -> Fetched:
        """Try the ways to resolve in turn; the recipe says what the one that worked asked for."""
        found = resolve(
            bench.engine,
            bench.store,
            bench.settings,
            candidate_id=bench.candidate_id,
            runtime_image=runtime_image,
            runtime=self.recipe.runtime,
            project=self.recipe.project_name,
            ways=attempts(self.plan.full, self.plan.union, self.plan.solution_only, self.facts.as_of),
        )
        if found.attempt is None:
            return Fetched(None, found.obstacles, found.failure, found.failure)
        recipe = self.recipe.model_copy(
            update={
                "packages": found.packages,
                "requirements": found.attempt.requirements,
                "as_of": found.attempt.as_of.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        )
        return Fetched(recipe, found.obstacles)


class PythonStack:
    """The stack `python`."""

    name = "python"

    def claims_test(self, path: str) -> bool:
        """Python files."""
        return path.endswith(".py")

    def plan(self, start: Tree, solution: Tree, facts: Facts) -> PythonPlanned | NoPlan | None:
        """The union of what both states declare."""
        planned = plan(start, solution, as_of=facts.as_of, nearest_tag=facts.nearest_tag)
        return PythonPlanned(planned, facts) if isinstance(planned, Plan) else planned
