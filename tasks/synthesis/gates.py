"""The gates of the quality card that are built so far: nop, oracle, repeats, regression, hunk drop.

Findings are per test first: a test that is not stable is dropped and the gates run again; a candidate falls only when too
little is left. What a gate has not measured stays null on the card.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from blocks.builder.grading import Verdict
from blocks.records import ReasonCode
from blocks.settings import GateSettings
from blocks.trees import Tree, overlay
from blocks.vectors import StateComparison, TestStatus, TestVector
from tasks.synthesis.hunks import Hunk, hunks
from tasks.synthesis.ingredients import Ingredients
from tasks.synthesis.suite import Suite, build_suite
from tasks.synthesis.watch import without

MAX_ROUNDS = 3

Grade = Callable[[Suite, Tree], Verdict]
"""Grades one workspace with one suite, in a fresh container."""


@dataclass(frozen=True)
class Run:
    """One graded run: kind is nop, oracle or hunk."""

    name: str
    kind: str
    verdict: Verdict
    deviations: tuple[str, ...] = ()
    """Whitelisted tests that ended differently from the first run of this kind."""


@dataclass(frozen=True)
class Card:
    """What the gates measured."""

    suite: Suite
    wanted: StateComparison
    runs: tuple[Run, ...]
    dropped: tuple[str, ...]
    flips: int
    hunks: tuple[tuple[Hunk, bool], ...] = ()
    """Each dropped hunk and whether the verifier noticed."""
    reason_code: ReasonCode = ReasonCode.OK
    message: str = ""


@dataclass
class _Tally:
    runs: list[Run] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


def measure(ingredients: Ingredients, compared: StateComparison, settings: GateSettings, grade: Grade) -> Card:
    """Run the gates.

    Args:
        ingredients: what the verifier is made from.
        compared: the test sets archaeology saw; pass_to_fail is left out and only counted.
        settings: thresholds and repeats.
        grade: grades one workspace; called 2 x repeats times per round, then once per hunk.
    """
    tally = _Tally()
    wanted = compared
    for _ in range(MAX_ROUNDS):
        suite = build_suite(ingredients, wanted)
        tally.runs = _repeat(suite, ingredients, settings.repeats, grade)
        unstable = _unstable(tally.runs, wanted)
        if not unstable:
            break
        tally.dropped += sorted(unstable)
        wanted = without(wanted, unstable)
        if len(wanted.fail_to_pass) < settings.min_fail_to_pass:
            break
    flips = _flips(tally.runs)
    reason, message = _decide(wanted, tally.runs, flips, unstable, settings)
    dropped_hunks: tuple[tuple[Hunk, bool], ...] = ()
    if reason is ReasonCode.OK:
        dropped_hunks = _drop_hunks(suite, ingredients, settings, grade, tally)
    return Card(suite, wanted, tuple(tally.runs), tuple(tally.dropped), flips, dropped_hunks, reason, message)


def deviations(first: TestVector, later: TestVector, whitelist: tuple[str, ...]) -> tuple[str, ...]:
    """Whitelisted tests whose status differs between two runs; absent is a status of its own."""
    return tuple(test for test in whitelist if _status(first, test) != _status(later, test))


def _repeat(suite: Suite, ingredients: Ingredients, repeats: int, grade: Grade) -> list[Run]:
    oracle = ingredients.solved()
    runs: list[Run] = []
    for kind, tree in (("nop", ingredients.start), ("oracle", oracle)):
        first: TestVector | None = None
        for number in range(1, repeats + 1):
            verdict = grade(suite, tree)
            differs = deviations(first, verdict.vector, suite.spec.whitelist) if first else ()
            first = first or verdict.vector
            runs.append(Run(f"{kind}-{number}", kind, verdict, differs))
    return runs


def _unstable(runs: list[Run], wanted: StateComparison) -> set[str]:
    """Tests that break their promise in any run: a fail-to-pass test fails in every nop and passes in every oracle run."""
    bad: set[str] = set()
    for run in runs:
        if not run.verdict.vector.complete:
            continue
        passed = run.verdict.vector.passed()
        if run.kind == "nop":
            bad |= passed & set(wanted.fail_to_pass)
        else:
            bad |= set(wanted.fail_to_pass) - passed
        bad |= set(wanted.pass_to_pass) - passed
    return bad


def _flips(runs: list[Run]) -> int:
    """Runs whose reward differs from the first of their kind, or where a whitelisted test deviates."""
    firsts = {run.kind: run.verdict.reward for run in reversed(runs)}
    return sum(1 for run in runs if run.verdict.reward != firsts[run.kind] or run.deviations)


def _decide(
    wanted: StateComparison, runs: list[Run], flips: int, unstable: set[str], settings: GateSettings
) -> tuple[ReasonCode, str]:
    rewards = {kind: [run.verdict.reward for run in runs if run.kind == kind] for kind in ("nop", "oracle")}
    used_up = len(wanted.fail_to_pass) < settings.min_fail_to_pass
    nop_passes = [reward == 1 for reward in rewards["nop"]]
    oracle_fails = [reward != 1 for reward in rewards["oracle"]]
    if all(nop_passes) or (any(nop_passes) and not used_up):
        return ReasonCode.NOP_PASSES, f"the unchanged start tree got {rewards['nop']}"
    if all(oracle_fails) or (any(oracle_fails) and not used_up):
        reasons = next(run.verdict.reasons for run in runs if run.kind == "oracle" and run.verdict.reward != 1)
        return ReasonCode.ORACLE_FAILS, f"the solution got {rewards['oracle']}: {'; '.join(reasons)[:500]}"
    if used_up:
        return ReasonCode.TESTS_USED_UP, f"{len(wanted.fail_to_pass)} stable fail-to-pass tests are left"
    if unstable:
        return ReasonCode.VERIFIER_FLAKY, f"after {MAX_ROUNDS} rounds tests still break their promise: {_few(unstable)}"
    if flips:
        return ReasonCode.VERIFIER_FLAKY, f"{flips} of {len(runs)} runs differ from the first of their kind"
    if len(wanted.pass_to_pass) < settings.min_pass_to_pass:
        return ReasonCode.REGRESSION_EMPTY, f"{len(wanted.pass_to_pass)} pass-to-pass tests are left"
    return (
        ReasonCode.OK,
        f"{len(wanted.fail_to_pass)} fail-to-pass, {len(wanted.pass_to_pass)} pass-to-pass, {len(runs)} runs",
    )


def _few(tests: set[str]) -> str:
    return ", ".join(sorted(tests)[:3])


def _drop_hunks(
    suite: Suite, ingredients: Ingredients, settings: GateSettings, grade: Grade, tally: _Tally
) -> tuple[tuple[Hunk, bool], ...]:
    oracle = ingredients.solved()
    found = hunks(ingredients.start, oracle, ingredients.source_paths)
    noticed: list[tuple[Hunk, bool]] = []
    for hunk in [hunk for hunk in found if hunk.required][: settings.max_hunks]:
        verdict = grade(suite, overlay(oracle, {hunk.path: hunk.without}))
        tally.runs.append(Run(f"hunk-{hunk.name}", "hunk", verdict))
        noticed.append((hunk, verdict.reward == 0))
    return tuple(noticed)


def _status(vector: TestVector, test: str) -> TestStatus | None:
    result = vector.results.get(test)
    return result.status if result else None
