"""Building and testing the states: one fresh container per state, no network, unprivileged."""

import time
from dataclasses import dataclass

from blocks.builder.foundation import Foundation, Installed
from blocks.builder.places import AGENT_UID, AGENT_USER, WORKSPACE
from blocks.builder.project import place_workspace
from blocks.builder.testing import observe
from blocks.engine import Container, ContainerSpec, Role
from blocks.recipe import Recipe
from blocks.records import ObstacleRow, Phase
from blocks.trees import Tree
from blocks.vectors import TestVector
from tasks.archaeology.stack import Bench
from tasks.archaeology.states import changed


@dataclass(frozen=True)
class StateRun:
    """What one state gave. `recipe` says how the project was installed in the end; `vector` is None where it was not."""

    vector: TestVector | None
    recipe: Recipe
    obstacles: tuple[ObstacleRow, ...]
    failure: str = ""
    install_log: str = ""
    """What the install said, where something had to be got around."""
    seconds: float = 0.0
    """Install and tests, the container's start included."""


def test_state(
    bench: Bench, foundation: Foundation, *, image: str, recipe: Recipe, start: Tree, state: Tree
) -> StateRun:
    """Install the project from the start tree, bring the workspace to `state`, run the whole suite.

    The install always comes from the start tree, because that is what an agent's environment holds.
    """
    began = time.monotonic()
    timeouts = bench.settings.timeouts
    deadline_sec = timeouts.install_sec + timeouts.tests_sec + 120
    spec = ContainerSpec(image=image, role=Role.SUBJECT, user=AGENT_USER, workdir=WORKSPACE, deadline_sec=deadline_sec)
    with bench.engine.container(spec) as box:
        place_workspace(box, start)
        installed = foundation.install(box, recipe, timeout_sec=timeouts.install_sec)
        obstacles = _obstacles(bench, installed)
        if not installed.ok or not box.is_running():
            return StateRun(None, installed.recipe, obstacles, installed.output)
        bring(box, start, state)
        vector = observe(box, installed.recipe, timeout_sec=timeouts.tests_sec)
    said = installed.output if installed.symptom else ""
    return StateRun(vector, installed.recipe, obstacles, install_log=said, seconds=time.monotonic() - began)


def bring(box: Container, start: Tree, state: Tree) -> None:
    """Change the workspace from one tree to another; what the install left there stays."""
    difference = changed(start, state)
    gone = [f"{WORKSPACE}/{path}" for path, file in difference.items() if file is None]
    if gone:
        box.run(["rm", "-f", "--", *gone], timeout_sec=60)
    written = {path: file for path, file in difference.items() if file is not None}
    if written:
        box.put_tree(written, WORKSPACE, uid=AGENT_UID, gid=AGENT_UID)


def _obstacles(bench: Bench, installed: Installed) -> tuple[ObstacleRow, ...]:
    if not installed.symptom:
        return ()
    obstacle = ObstacleRow(
        candidate_id=bench.candidate_id,
        phase=Phase.ARCHAEOLOGY,
        attempt=1,
        symptom=installed.symptom,
        remedy=installed.remedy,
        resolved=installed.ok,
    )
    return (obstacle,)
