"""What the solution itself shows of a verifier that is not pytest's, before the gates run.

Which configuration its tests need: the start's, or else the outcome's. Where tests that must fail do fail, and where a
tool does not take them: those are not asked for, and the phase's message counts them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from blocks.builder.grading import Verdict
from blocks.trees import Tree
from blocks.vectors import StateComparison
from tasks.synthesis.ingredients import Ingredients
from tasks.synthesis.runner_suite import manifests_of
from tasks.synthesis.suite import Suite, build_suite
from tasks.synthesis.watch import without

Grade = Callable[[Suite, Tree], Verdict]


@dataclass(frozen=True)
class _Tried:
    ingredients: Ingredients
    suite: Suite
    verdict: Verdict

    @property
    def missing(self) -> set[str]:
        return set(self.suite.spec.whitelist) - self.verdict.vector.passed()


def calibrate(ingredients: Ingredients, wanted: StateComparison, grade: Grade) -> Ingredients:
    """The ingredients with what was found out; graded once, or up to three times."""
    if ingredients.recipe.runner == "pytest":
        return ingredients
    best = _try(ingredients, wanted, grade)
    changed = manifests_of(ingredients)
    if best.missing and changed:
        other = _try(replace(ingredients, manifests=changed), wanted, grade)
        best = other if len(other.missing) < len(best.missing) else best
    left = without(wanted, best.missing)
    if best.missing and left.fail_to_pass:
        best = _try(best.ingredients, left, grade)
    told = best.verdict.sentinels
    return replace(
        best.ingredients,
        silent=frozenset(best.verdict.silent_files),
        must_fail=frozenset(test for test in best.suite.spec.must_fail if told.get(test) == "failed"),
    )


def configuration_said(ingredients: Ingredients) -> str:
    """Which configuration is the outcome's, in words; empty where the start's will do.

    Where it names files that only the outcome has, no other tree can be built with it: the gates then find nothing that
    passes before, and this says why.
    """
    if not ingredients.manifests:
        return ""
    return f", with the outcome's {', '.join(sorted(ingredients.manifests)[:5])}, which its tests need"


def sentinels_said(suite: Suite) -> str:
    """How much of a verifier tests that must fail watch over, in words; empty for pytest, which always has them."""
    spec = suite.spec
    if spec.runner == "pytest":
        return ""
    if spec.runner == "native" and spec.must_fail:
        return f", {len(spec.must_fail)} tests also with an inverted main"
    files = len(spec.sentinel_files)
    of = f" of {len(spec.test_files)}" if spec.test_files else ""
    return f", {files}{of} test files with tests that must fail"


def _try(ingredients: Ingredients, wanted: StateComparison, grade: Grade) -> _Tried:
    suite = build_suite(ingredients, wanted)
    return _Tried(ingredients, suite, grade(suite, ingredients.solved()))
