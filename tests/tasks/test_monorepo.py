"""Projects that do not lie at the root, all the way: found, built, graded, published and built again."""

from pathlib import Path

import pytest

from blocks.builder.places import in_workspace
from blocks.engine import Engine
from blocks.grader.spec import GraderSpec
from blocks.recipe import Recipe
from blocks.records import ObstacleRow, Phase
from blocks.vectors import TestVector
from tests.tasks.monorepos import of_the_backend, of_the_frontend
from tests.tasks.pipeline import Candidate
from tests.tasks.projects import Project
from tests.tasks.whole import card, clean_up, publish_and_rebuild, submit, verify
from tests.trees import tree

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.mark.parametrize(
    ("project", "stack", "folder", "tests", "aside", "loaded"),
    [
        (
            of_the_backend(),
            "python",
            "backend",
            (
                {"backend/tests/test_core.py::test_a_litre", "backend/tests/test_more.py::test_two"},
                {"backend/tests/test_core.py::test_nothing", "backend/tests/test_where.py::test_where"},
            ),
            "1 of the outcome's test files belong to the node project in frontend: frontend/test/core.test.js",
            "backend/conftest.py",
        ),
        (
            of_the_frontend(),
            "node",
            "frontend",
            (
                {
                    "frontend/test/core.test.js::kettle > boils",
                    "frontend/test/more.test.js::kettle > boils more",
                },
                {
                    f"frontend/test/{file}.test.js::kettle > {name}"
                    for file in ("core", "more")
                    for name in ("cools", "is here")
                },
            ),
            "1 of the outcome's test files belong to the python project in backend: backend/tests/test_core.py",
            "frontend/.mocharc.js",
        ),
    ],
    ids=["python", "node"],
)
def test_all_the_way(
    engine: Engine,
    tmp_path: Path,
    project: Project,
    stack: str,
    folder: str,
    tests: tuple[set[str], set[str]],
    aside: str,
    loaded: str,
) -> None:
    del engine
    candidate = Candidate(tmp_path, project)
    try:
        chain = verify(candidate).chain
        recipe = chain.record(Phase.ARCHAEOLOGY, "recipe.json", Recipe)
        assert (recipe.stack, recipe.folder, in_workspace(recipe.folder)) == (stack, folder, f"/app/{folder}")
        after = chain.record(Phase.ARCHAEOLOGY, "after.json", TestVector)
        assert all(test.startswith(f"{folder}/") for test in after.results), "ids are those of the workspace"
        told = {row.symptom: row for row in chain.rows(Phase.ARCHAEOLOGY, ObstacleRow)}
        assert aside in told and not told[aside].resolved

        spec = GraderSpec.from_json(chain.tree(Phase.SYNTHESIS, "tests.tar")["spec.json"].content.decode())
        assert spec.folder == folder
        assert (set(spec.fail_to_pass), set(spec.pass_to_pass)) == tests
        row = card(candidate)
        assert (row.status, row.nop_reward, row.oracle_reward) == ("admitted", 0, 1)

        evil = tree({loaded: "import os\nos._exit(0)\n" if stack == "python" else "process.exit(0)\n"})
        assert submit(candidate, evil, solved=True).reward == 1, "runner configuration of the folder is nobody's to add"
        gone = {path: None for path in project.start if path.startswith(f"{folder}/src/")}
        assert submit(candidate, gone, solved=True).reward == 0
        publish_and_rebuild(candidate)
    finally:
        clean_up(candidate)
