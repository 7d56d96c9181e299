"""Single verdicts on a real environment: what a submission can lose, and that none of it is our fault."""

import pytest

from blocks.builder.grading import grade
from blocks.records import EnvironmentRow, Phase
from blocks.trees import File, Tree, overlay
from tests.tasks.pipeline import Candidate
from tests.tasks.projects import BUG, FAIL_TO_PASS, FIX
from tests.trees import tree

pytestmark = pytest.mark.engine

FIXED = tree({"src/kettle/core.py": FIX})


@pytest.mark.parametrize(
    ("change", "reward"),
    [
        (FIXED, 1),
        ({**FIXED, "tests/test_core.py": None, "tests/test_legacy.py": None, "pyproject.toml": None}, 1),
        ({**FIXED, **tree({"conftest.py": "raise SystemExit(0)", "pytest.ini": "[pytest]\naddopts = --co"})}, 1),
        ({"src/kettle/core.py": None}, 0),
        (tree({"src/kettle/core.py": "import os\nos._exit(0)\n"}), 0),
        (tree({"src/kettle/core.py": BUG, "tests/test_core.py": "def test_a_litre():\n    pass\n"}), 0),
        ({"src/kettle/core.py": File(link="missing.py")}, 0),
    ],
    ids=[
        "right",
        "right, own tests and configuration deleted",
        "right, with a hook of its own",
        "source deleted",
        "ends the run",
        "forges the hidden test",
        "a link to nowhere",
    ],
)
def test_submissions(verified: Candidate, change: dict[str, File | None], reward: float) -> None:
    workspace = overlay(verified.chain.tree(Phase.CONTAINERIZE, "workspace.tar"), change)
    assert _grade(verified, workspace) == reward


def test_nothing_at_all(verified: Candidate) -> None:
    assert _grade(verified, {}) == 0


def _grade(verified: Candidate, workspace: Tree) -> float:
    image = verified.chain.row(Phase.CONTAINERIZE, EnvironmentRow).image
    tests = verified.chain.tree(Phase.SYNTHESIS, "tests.tar")
    verdict = grade(verified.workshop.engine, image, workspace, tests, timeout_sec=60)
    assert bool(verdict.reward) == (FAIL_TO_PASS[0] in verdict.vector.passed())
    assert bool(verdict.reward) == (verdict.reasons == ())
    return verdict.reward
