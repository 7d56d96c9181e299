"""Both states tested, more than once where a run is short, each time in a fresh container."""

from dataclasses import dataclass

from blocks.records import ObstacleRow
from blocks.vectors import StateComparison, TestVector, compare_states
from tasks.archaeology.rebuild import StateRun, test_state
from tasks.archaeology.repair import Trial
from tasks.archaeology.stack import Bench
from tasks.archaeology.states import States

CHEAP_SEC = 60.0
"""A state that takes longer, install and tests together, is tested once."""


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
    """Test S1, then both again where that is cheap. The trial's own run is the first of S2."""
    assert trial.run is not None and trial.run.vector is not None
    first = _run(bench, trial, states, solved=False)
    if first.vector is None:
        return Proof((), (trial.run.vector,), first.obstacles, first.failure)
    before, after = [first.vector], [trial.run.vector]
    for runs, example, solved in ((before, first, False), (after, trial.run, True)):
        again = bench.settings.gates.repeats - 1 if example.seconds < CHEAP_SEC and not runs[0].timed_out else 0
        more = (_run(bench, trial, states, solved=solved).vector for _ in range(again))
        runs += [vector for vector in more if vector is not None]
    return Proof(tuple(before), tuple(after), first.obstacles)


def _run(bench: Bench, trial: Trial, states: States, *, solved: bool) -> StateRun:
    tree = states.solution if solved else states.with_tests(states.start)
    return test_state(bench, trial.foundation, image=trial.image, recipe=trial.recipe, start=states.start, state=tree)
