"""One plan, tried on the solution: built as far as it goes, its tests run, and what was said kept as evidence."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from blocks.builder.dependencies import InstallError
from blocks.builder.foundation import Foundation
from blocks.builder.foundations import foundation_of
from blocks.recipe import Recipe
from blocks.records import ObstacleRow, ReasonCode
from blocks.vectors import TestStatus, TestVector
from tasks.archaeology.rebuild import StateRun, test_state
from tasks.archaeology.remedies import Evidence
from tasks.archaeology.stack import Bench, Planned
from tasks.archaeology.states import States

MANY_SKIPPED = 0.2
"""From this share of all tests on, what was skipped is asked why."""


@dataclass(frozen=True)
class Trial:
    """One plan, tried on the solution. `reason_code` says why it ended before its tests ran."""

    planned: Planned
    recipe: Recipe
    image: str = ""
    run: StateRun | None = None
    reason_code: ReasonCode | None = None
    failure: str = ""
    obstacles: tuple[ObstacleRow, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    stage: int = 0

    @property
    def vector(self) -> TestVector | None:
        """The solution's tests."""
        return self.run.vector if self.run else None

    @property
    def foundation(self) -> Foundation:
        """What the recipe stands on."""
        return foundation_of(self.recipe)

    @property
    def score(self) -> tuple[int, int, bool]:
        """How far it came, how many tests passed, and whether the project's own build ran."""
        return self.stage, len(self.vector.passed()) if self.vector else 0, self.recipe.install != "path"


def try_plan(bench: Bench, planned: Planned, states: States) -> Trial:
    """Build one plan as far as it goes, and run the solution's tests."""
    recipe = planned.recipe
    foundation = foundation_of(recipe)
    runtime_image = foundation.runtime_image(bench.engine, bench.settings, recipe)
    if runtime_image is None:
        why = f"no runtime image for {recipe.runtime}"
        return Trial(planned, recipe, reason_code=ReasonCode.RUNTIME_NOT_AVAILABLE, failure=why)
    fetched = planned.fetch(bench, runtime_image)
    if fetched.recipe is None:
        return Trial(
            planned,
            recipe,
            reason_code=ReasonCode.DEPENDENCIES_UNRESOLVED,
            failure=fetched.failure,
            obstacles=fetched.obstacles,
            evidence=Evidence(resolve=fetched.log or fetched.failure),
            stage=1,
        )
    recipe = fetched.recipe
    try:
        image = foundation.dependency_image(bench.engine, bench.store, bench.settings, recipe, runtime_image)
    except InstallError as error:
        return Trial(
            planned,
            recipe,
            reason_code=ReasonCode.INSTALL_FAILED,
            failure=str(error),
            obstacles=fetched.obstacles,
            evidence=Evidence(install=str(error)),
            stage=2,
        )
    run = test_state(bench, foundation, image=image, recipe=recipe, start=states.start, state=states.solution)
    obstacles = (*fetched.obstacles, *run.obstacles)
    if run.vector is None:
        return Trial(
            planned,
            run.recipe,
            image,
            run,
            ReasonCode.INSTALL_FAILED,
            run.failure,
            obstacles,
            Evidence(install=run.failure),
            stage=3,
        )
    evidence = _evidence(run, run.vector, states)
    return Trial(planned, run.recipe, image, run, obstacles=obstacles, evidence=evidence, stage=4)


def _evidence(run: StateRun, vector: TestVector, states: States) -> Evidence:
    results = vector.results
    broken = set(vector.collection_errors)
    failed = [item for item in results.items() if item[1].status is TestStatus.FAILED]
    collect = [result.detail for test, result in failed if test.partition("::")[0] in broken]
    tests = [result.detail for test, result in failed if test.partition("::")[0] not in broken]
    skipped = {test: result.detail for test, result in results.items() if result.status is TestStatus.SKIPPED}
    hidden = {PurePosixPath(path).as_posix() for path in states.hidden}
    asked = len(skipped) >= MANY_SKIPPED * len(results)
    skips = [why for test, why in skipped.items() if asked or test.partition("::")[0] in hidden]
    nothing_ran = not any("::" in test for test in results)
    return Evidence(
        install=run.install_log,
        collect="\n".join([*collect, vector.log_tail if broken or nothing_ran else ""]),
        tests="\n".join([*tests, vector.log_tail if failed else ""]),
        skips="\n".join(dict.fromkeys(skips)),
    )
