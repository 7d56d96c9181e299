"""From a plan to a solution whose tests run: built, and mended while that makes it better.

First by the table of remedies; then, where no test passes, by what another candidate of the repository needed; then by
what a model proposes, where one is configured. A recipe that had to be mended is replayed in a fresh container, and what
that gives is what counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pydantic import ValidationError

from blocks import remembered
from blocks.records import ObstacleRow, Phase, ReasonCode, Record
from tasks.archaeology.outside import outside_needs
from tasks.archaeology.rebuild import test_state
from tasks.archaeology.remedies import Fix, Remedy, find_fixes, read_remedies
from tasks.archaeology.stack import Bench, Mendable, Planned
from tasks.archaeology.states import States
from tasks.archaeology.trial import Trial, try_plan

MOST_ROUNDS = 5
REMEMBERED_VERSION = 1
"""Raised when a fix comes to mean something else."""


class GoodRecipe(Record):
    """What made a candidate of a repository work, for the next one that does not."""

    stack: str
    runtime: str
    fixes: tuple[Fix, ...] = ()


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
    made: list[Fix] = field(default_factory=list)
    """Every fix that was tried, for who proposes more."""
    obstacles: list[ObstacleRow] = field(default_factory=list)

    def note(self, fixes: Sequence[Fix], attempt: int, *, resolved: bool) -> None:
        for fix in fixes:
            self.row(fix.symptom, f"{fix.name}: {fix.action} {fix.argument}", attempt, resolved=resolved)

    def row(self, symptom: str, remedy: str, attempt: int, *, resolved: bool) -> None:
        self.obstacles.append(
            ObstacleRow(
                candidate_id=self.bench.candidate_id,
                phase=Phase.ARCHAEOLOGY,
                attempt=attempt,
                symptom=symptom,
                remedy=remedy,
                resolved=resolved,
            )
        )


def repair(bench: Bench, planned: Planned, states: States, repository: str) -> Repaired:
    """Try the plan; while the logs name something the table knows, try that; then what the module's head says.

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
        if mended is None and not best.score[1]:
            mended, fixes = _proposed(work, best)
        if mended is None:
            break
        trial = try_plan(bench, mended, states)
        tries += 1
        work.made.extend(fixes)
        better = trial.score > best.score
        work.note(fixes, attempt, resolved=better)
        work.obstacles.extend(row for row in trial.obstacles if row not in work.obstacles)
        current, made = trial, (*made, *fixes)
        if better:
            best, good = trial, made
    best = _replayed(work, best, good)
    _note_outside(work, best)
    return Repaired(best, tuple(work.obstacles), tries, good)


def remember(bench: Bench, repository: str, repaired: Repaired) -> None:
    """Keep what this candidate needed, for the repository's next; it goes when this candidate is withdrawn.

    Words of its logs are not kept: what is withdrawn must not live on in another candidate's rows.
    """
    if repaired.fixes:
        recipe = repaired.trial.recipe
        fixes = tuple(fix.model_copy(update={"symptom": ""}) for fix in repaired.fixes)
        content = GoodRecipe(stack=recipe.stack, runtime=recipe.runtime, fixes=fixes).model_dump_json().encode()
        kind = remembered_kind(recipe.stack)
        remembered.remember(bench.store, repository, kind, bench.candidate_id, content, datetime.now(UTC))


def remembered_kind(stack: str) -> str:
    """What the memory of a stack's fixes is called; another version's is none."""
    return f"{stack}-v{REMEMBERED_VERSION}"


def _replayed(work: _Workbench, trial: Trial, fixes: Sequence[Fix]) -> Trial:
    """The trial with a run of its own recipe from nothing, where what it ran was mended or got around on the way."""
    if trial.run is None or not trial.score[1] or not (fixes or trial.run.obstacles):
        return trial
    start, solution = work.states.start, work.states.solution
    run = test_state(work.bench, trial.foundation, image=trial.image, recipe=trial.recipe, start=start, state=solution)
    if run.vector is None:
        work.row("the recipe does not install a second time", "none left", MOST_ROUNDS + 1, resolved=False)
        return replace(trial, run=run, reason_code=ReasonCode.INSTALL_FAILED, failure=run.failure)
    return replace(trial, run=run)


def _note_outside(work: _Workbench, trial: Trial) -> None:
    """What the suite would need from outside: services of its CI, and what failing tests could not reach."""
    services = trial.planned.services
    for name in services:
        symptom, remedy = f"CI starts {name} beside the tests", "not started here; tests that need it are in no set"
        work.row(symptom, remedy, 1, resolved=False)
    for need in outside_needs(trial.vector, services) if trial.vector else ():
        work.row(need.symptom, need.remedy, 1, resolved=False)


def _next(work: _Workbench, trial: Trial) -> tuple[Planned | None, list[Fix]]:
    """The trial's plan with what its logs call for; None where the table knows nothing more."""
    while fixes := find_fixes(work.remedies, trial.evidence, stack=trial.recipe.stack, tried=work.tried):
        work.tried |= {fix.key for fix in fixes}
        mended, done = _mend(trial.planned, fixes)
        if done:
            return mended, done
    return None, []


def _as_before(work: _Workbench, trial: Trial, repository: str) -> tuple[Planned | None, list[Fix]]:
    """What was remembered of the repository. The rows name the memory by its hash, not the candidate it is from."""
    found = remembered.recall(work.bench.store, repository, remembered_kind(trial.recipe.stack))
    try:
        good = GoodRecipe.model_validate_json(found.content) if found else None
    except ValidationError:
        return None, []
    if found is None or good is None or good.stack != trial.recipe.stack:
        return None, []
    fixes = [fix for fix in good.fixes if fix.key not in work.tried]
    work.tried |= {fix.key for fix in fixes}
    why = "no test passes, and the table of remedies knows nothing more"
    name = f"as the repository needed before (remembered {found.digest[:12]})"
    return _attempt(trial, [fix.model_copy(update={"name": name, "symptom": why}) for fix in fixes])


def _proposed(work: _Workbench, trial: Trial) -> tuple[Planned | None, list[Fix]]:
    if work.bench.asking is None:
        return None, []
    fixes = work.bench.asking.next_fixes(trial.recipe, trial.evidence, work.made)
    work.tried |= {fix.key for fix in fixes}
    return _attempt(trial, fixes)


def _attempt(trial: Trial, fixes: Sequence[Fix]) -> tuple[Planned | None, list[Fix]]:
    mended, done = _mend(trial.planned, fixes)
    return (mended, done) if done else (None, [])


def _mend(planned: Planned, fixes: Sequence[Fix]) -> tuple[Planned, list[Fix]]:
    done = []
    for fix in fixes:
        changed = planned.mend(fix) if isinstance(planned, Mendable) else None
        if changed is not None:
            planned = changed
            done.append(fix)
    return planned, done
