"""Building and testing the states: one fresh container per state, no network, unprivileged."""

from dataclasses import dataclass

from blocks.builder.places import AGENT_UID, AGENT_USER, WORKSPACE
from blocks.builder.project import install_editable, install_path, place_workspace
from blocks.builder.testing import observe
from blocks.engine import Container, ContainerSpec, Engine, Role
from blocks.recipe import Recipe
from blocks.records import ObstacleRow, Phase
from blocks.settings import Settings
from blocks.trees import Tree
from blocks.vectors import TestVector
from tasks.archaeology.states import changed


@dataclass(frozen=True)
class StateRun:
    """What one state gave. `recipe` says how the project was installed in the end."""

    vector: TestVector
    recipe: Recipe
    obstacles: tuple[ObstacleRow, ...]


def test_state(
    engine: Engine, settings: Settings, *, candidate_id: str, image: str, recipe: Recipe, start: Tree, state: Tree
) -> StateRun:
    """Install the project from the start tree, bring the workspace to `state`, run the whole suite.

    The install always comes from the start tree, because that is what an agent's environment holds.
    """
    timeouts = settings.timeouts
    deadline_sec = timeouts.install_sec + timeouts.tests_sec + 120
    spec = ContainerSpec(image=image, role=Role.SUBJECT, user=AGENT_USER, workdir=WORKSPACE, deadline_sec=deadline_sec)
    with engine.container(spec) as box:
        place_workspace(box, start)
        recipe, obstacles = install_project(box, recipe, candidate_id=candidate_id, timeout_sec=timeouts.install_sec)
        difference = changed(start, state)
        gone = [f"{WORKSPACE}/{path}" for path, file in difference.items() if file is None]
        if gone:
            box.run(["rm", "-f", "--", *gone], timeout_sec=60)
        written = {path: file for path, file in difference.items() if file is not None}
        if written:
            box.put_tree(written, WORKSPACE, uid=AGENT_UID, gid=AGENT_UID)
        vector = observe(
            box,
            ini_lines=recipe.ini_lines,
            arguments=recipe.arguments,
            environment=dict(recipe.environment),
            timeout_sec=timeouts.tests_sec,
        )
    return StateRun(vector, recipe, obstacles)


def install_project(
    box: Container, recipe: Recipe, *, candidate_id: str, timeout_sec: int
) -> tuple[Recipe, tuple[ObstacleRow, ...]]:
    """Install as the recipe says; an editable install that fails becomes a path install and an obstacle."""
    if recipe.install == "editable":
        done = install_editable(box, recipe, timeout_sec=timeout_sec)
        if done.exit_code == 0:
            return recipe, ()
        symptom = f"editable install failed: {done.output.strip()[-300:]}"
    install_path(box, recipe)
    if recipe.install == "path":
        return recipe, ()
    obstacle = ObstacleRow(
        candidate_id=candidate_id,
        phase=Phase.ARCHAEOLOGY,
        attempt=1,
        symptom=symptom,
        remedy="source folders on the path, metadata written by hand",
        resolved=True,
    )
    return recipe.model_copy(update={"install": "path"}), (obstacle,)
