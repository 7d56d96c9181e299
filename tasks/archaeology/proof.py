"""Both states tested, more than once, each time in a fresh container: all of it where a run is short, else the tests
that matter, so that what is named or decided by chance shows.
"""

import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from blocks.records import ObstacleRow, Phase
from blocks.vectors import StateComparison, TestResult, TestVector, compare_states
from tasks.archaeology.rebuild import StateRun, test_state
from tasks.archaeology.stack import Bench
from tasks.archaeology.states import States
from tasks.archaeology.trial import Trial

CHEAP_SEC = 60.0
"""A state that takes longer, install and tests together, is tested once; the outcome's test files in it twice."""


@dataclass(frozen=True)
class Proof:
    """Every run of S1 and of S2. `before` is empty where S1 could not be installed; `failure` then says why."""

    before: tuple[TestVector, ...]
    after: tuple[TestVector, ...]
    obstacles: tuple[ObstacleRow, ...] = ()
    failure: str = ""

    @property
    def comparison(self) -> StateComparison:
        """What passes in every run and in none; what deviates is in no set."""
        return compare_states(list(self.before), list(self.after))

    @property
    def deviating(self) -> tuple[str, ...]:
        """Tests that did not pass in all runs of one state, nor fail in all: also those whose very name changes."""
        found = set[str]()
        for runs in (self.before, self.after):
            passed = [vector.passed() for vector in runs]
            found |= frozenset.union(*passed) - frozenset.intersection(*passed)
        return tuple(sorted(found))


def prove(bench: Bench, trial: Trial, states: States) -> Proof:
    """Test S1, then both again: `gates.repeats` runs of each where that is cheap, else the outcome's tests once more.

    The trial's own run is the first of S2. A state that gives nothing complete when it is tested again is an obstacle
    that stays: nothing shows then which of its tests end by chance.
    """
    assert trial.run is not None and trial.run.vector is not None
    first = _run(bench, trial, states, solved=False)
    if first.vector is None:
        return Proof((), (trial.run.vector,), first.obstacles, first.failure)
    before, after, obstacles = [first.vector], [trial.run.vector], [*first.obstacles]
    for runs, example, solved in ((before, first, False), (after, trial.run, True)):
        again = bench.settings.gates.repeats - 1
        if again < 1 or not runs[0].complete or runs[0].timed_out:
            continue
        if example.seconds < CHEAP_SEC:
            more = [_run(bench, trial, states, solved=solved).vector for _ in range(again)]
        else:
            more = [_again(bench, trial, states, runs[0], solved=solved)]
        runs += [vector for vector in more if vector is not None]
        if missing := sum(vector is None or not vector.complete for vector in more):
            obstacles.append(_not_again(bench, missing, len(more), solved=solved))
    return Proof(tuple(before), tuple(after), tuple(obstacles))


def _again(bench: Bench, trial: Trial, states: States, known: TestVector, *, solved: bool) -> TestVector | None:
    """A long suite a second time: of pytest the outcome's test files alone, of other runners, or where that gives nothing,
    the whole. What no run came to a second time stays as it was; None where no second run came to its end.
    """
    files = [path for path in states.hidden if any(test.partition("::")[0] == path for test in known.results)]
    if trial.recipe.runner == "pytest" and files:
        some = _run(bench, trial, states, solved=solved, files=files).vector
        if some is not None and some.complete and some.results:
            return spliced(known, some, files)
    whole = _run(bench, trial, states, solved=solved).vector
    return whole if whole is not None and whole.complete else None


def _not_again(bench: Bench, missing: int, of: int, *, solved: bool) -> ObstacleRow:
    state = "solution" if solved else "start"
    return ObstacleRow(
        candidate_id=bench.candidate_id,
        phase=Phase.ARCHAEOLOGY,
        attempt=1,
        symptom=f"the {state} could not be run a second time: {missing} of {of} further runs did not come to their end",
        remedy="what ran is what counts",
        resolved=False,
    )


def spliced(known: TestVector, some: TestVector, files: Collection[str]) -> TestVector:
    """A run of everything, with the results of these files from another run: what that one does not have is gone."""
    kept: Mapping[str, TestResult] = {
        test: result for test, result in known.results.items() if test.partition("::")[0] not in files
    }
    again = {test: result for test, result in some.results.items() if test.partition("::")[0] in files}
    return known.model_copy(update={"results": {**kept, **again}})


def _run(bench: Bench, trial: Trial, states: States, *, solved: bool, files: Sequence[str] = ()) -> StateRun:
    tree = states.solution if solved else states.with_tests(states.start)
    named = (f"./{posixpath.relpath(path, trial.recipe.folder)}" for path in files)
    recipe = trial.recipe.model_copy(update={"arguments": (*trial.recipe.arguments, *named)})
    return test_state(bench, trial.foundation, image=trial.image, recipe=recipe, start=states.start, state=tree)
