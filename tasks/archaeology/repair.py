"""From a plan to a solution whose tests run: built, and mended by the table of remedies while that makes it better."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pydantic import ValidationError

from blocks.builder.dependencies import InstallError
from blocks.builder.foundation import Foundation
from blocks.builder.foundations import foundation_of
from blocks.lake import ObjectMissingError
from blocks.recipe import Recipe
from blocks.records import ObstacleRow, Phase, ReasonCode, Record
from blocks.vectors import TestStatus, TestVector
from tasks.archaeology.rebuild import StateRun, test_state
from tasks.archaeology.remedies import Evidence, Fix, Remedy, find_fixes, read_remedies
from tasks.archaeology.stack import Bench, Mendable, Planned
from tasks.archaeology.states import States

MOST_ROUNDS = 5
MANY_SKIPPED = 0.2
"""From this share of all tests on, what was skipped is asked why."""


class GoodRecipe(Record):
    """What made the last candidate of a repository work, for the next one that does not."""

    stack: str
    runtime: str
    fixes: tuple[Fix, ...] = ()


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


@dataclass(frozen=True)
class Repaired:
    """The best trial, what stood in the way, and which fixes it stands on."""

    trial: Trial
    obstacles: tuple[ObstacleRow, ...]
    tries: int
    """Plans that were built and tested, the first one among them."""
    fixes: tuple[Fix, ...] = ()


@dataclass
class _Workbench:
    bench: Bench
    states: States
    remedies: Sequence[Remedy]
    tried: set[tuple[str, str]] = field(default_factory=set)
    obstacles: list[ObstacleRow] = field(default_factory=list)

    def note(self, fixes: Sequence[Fix], attempt: int, *, resolved: bool) -> None:
        for fix in fixes:
            self.obstacles.append(
                ObstacleRow(
                    candidate_id=self.bench.candidate_id,
                    phase=Phase.ARCHAEOLOGY,
                    attempt=attempt,
                    symptom=fix.symptom,
                    remedy=f"{fix.name}: {fix.action} {fix.argument}",
                    resolved=resolved,
                )
            )


def repair(bench: Bench, planned: Planned, states: States, repository: str) -> Repaired:
    """Try the plan; while the logs name something the table knows, try that; at last what the repository needed before.

    A round that makes nothing better is kept only as the start of the next one: what it broke may be known too.

    Raises:
        TransientError: network, store or engine.
    """
    work = _Workbench(bench, states, read_remedies())
    best = current = try_plan(bench, planned, states)
    work.obstacles.extend(best.obstacles)
    tries = 1
    good: tuple[Fix, ...] = ()
    made: tuple[Fix, ...] = ()
    for attempt in range(1, MOST_ROUNDS + 1):
        mended, fixes = _next(work, current)
        if mended is None and current is not best:
            current, made = best, good
            mended, fixes = _next(work, current)
        if mended is None and not best.score[1]:
            mended, fixes = _as_before(work, best, repository)
        if mended is None:
            break
        trial = try_plan(bench, mended, states)
        tries += 1
        better = trial.score > best.score
        work.note(fixes, attempt, resolved=better)
        work.obstacles.extend(row for row in trial.obstacles if row not in work.obstacles)
        current, made = trial, (*made, *fixes)
        if better:
            best, good = trial, made
    return Repaired(best, tuple(work.obstacles), tries, good)


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


def remember(bench: Bench, repository: str, repaired: Repaired) -> None:
    """Keep what this repository needed, for its next candidate."""
    if repaired.fixes:
        recipe = repaired.trial.recipe
        good = GoodRecipe(stack=recipe.stack, runtime=recipe.runtime, fixes=repaired.fixes)
        bench.store.put(_key(repository), good.model_dump_json().encode())


def _next(work: _Workbench, trial: Trial) -> tuple[Planned | None, list[Fix]]:
    """The trial's plan with what its logs call for; None where the table knows nothing more."""
    while fixes := find_fixes(work.remedies, trial.evidence, stack=trial.recipe.stack, tried=work.tried):
        work.tried |= {fix.key for fix in fixes}
        mended, done = _mend(trial.planned, fixes)
        if done:
            return mended, done
    return None, []


def _as_before(work: _Workbench, trial: Trial, repository: str) -> tuple[Planned | None, list[Fix]]:
    try:
        good = GoodRecipe.model_validate_json(work.bench.store.get(_key(repository)))
    except (ObjectMissingError, ValidationError):  # Another version's recipe is none.
        return None, []
    fixes = [fix for fix in good.fixes if fix.key not in work.tried and good.stack == trial.recipe.stack]
    work.tried |= {fix.key for fix in fixes}
    known = [fix.model_copy(update={"name": f"as the repository's last candidate ({fix.name})"}) for fix in fixes]
    mended, done = _mend(trial.planned, known)
    return (mended, done) if done else (None, [])


def _mend(planned: Planned, fixes: Sequence[Fix]) -> tuple[Planned, list[Fix]]:
    done = []
    for fix in fixes:
        changed = planned.mend(fix) if isinstance(planned, Mendable) else None
        if changed is not None:
            planned = changed
            done.append(fix)
    return planned, done


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


def _key(repository: str) -> str:
    return f"recipes/{hashlib.sha256(repository.encode()).hexdigest()[:32]}.json"
