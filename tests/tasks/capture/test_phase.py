"""Oracle, nop and replay in the agent's own container, graded as submissions are."""

import json

import pytest

from blocks.engine import ContainerSpec, Role
from blocks.records import EnvironmentRow, Outcome, Phase, ReasonCode, RolloutRow
from blocks.trees import File
from tasks.capture.agents import run_agent
from tasks.capture.phase import CAPTURE
from tests.tasks.pipeline import Candidate
from tests.trees import tree

pytestmark = pytest.mark.engine


def test_rollouts(verified: Candidate) -> None:
    """The session's own edit mends the bug, so that a person has to look: did the user reject a right solution?"""
    result = verified.run(CAPTURE)
    rows = {row.agent: row for row in verified.chain.rows(Phase.CAPTURE, RolloutRow)}
    assert {agent: row.reward for agent, row in rows.items()} == {"oracle": 1, "nop": 0, "replay": 1}
    assert (result.outcome, result.reason_code) == (Outcome.REVIEW, ReasonCode.REPLAY_PASSES)
    assert not result.goes_on
    for agent in rows:
        trajectory = json.loads(verified.chain.content(Phase.CAPTURE, f"trajectories/{agent}.json"))
        assert trajectory["schema_version"].startswith("ATIF") and trajectory["steps"]
    assert verified.chain.content(Phase.CAPTURE, "replay.txt") == b"1 edits applied\n"


def test_what_an_agent_leaves_is_taken_as_data(built: Candidate) -> None:
    """Links out of the workspace, pipes and special bits stay behind; a background process changes nothing more."""
    script = """#!/bin/bash
cd /app
ln -s /etc/passwd out; ln -s ../../etc/passwd up; ln -s pyproject.toml inside; mkfifo pipe
mkdir .git; echo x > .git/HEAD
echo 1 > late.txt; chmod 4755 late.txt; rm LICENSE
(setsid sh -c 'while :; do echo 2 >> late.txt; sleep 0.05; done' >/dev/null 2>&1 &)
exit 3
"""
    row = built.chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    solution = {"solve.sh": File(content=script.encode(), executable=True)}
    done = run_agent(built.workshop.engine, row.image, solution, timeout_sec=60)
    assert (done.exit_reason, done.commands[0][2]) == ("error", 3)
    assert set(done.workspace) & {"out", "up", "inside", "pipe", ".git/HEAD", "LICENSE", "late.txt"} == {
        "inside",
        "late.txt",
    }
    assert done.workspace["inside"] == File(link="pyproject.toml")
    assert done.workspace["late.txt"].executable
    start = built.chain.tree(Phase.CONTAINERIZE, "workspace.tar")
    assert done.workspace["src/kettle/core.py"] == start["src/kettle/core.py"]


def test_a_run_that_takes_too_long(built: Candidate) -> None:
    row = built.chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    done = run_agent(built.workshop.engine, row.image, tree({"solve.sh": "trap '' TERM; sleep 100"}), timeout_sec=2)
    assert done.exit_reason == "timeout"
    assert "src/kettle/core.py" in done.workspace


def test_each_run_has_a_container_of_its_own(built: Candidate) -> None:
    """What a run wrote is not in the image the next one starts from."""
    row = built.chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    run_agent(built.workshop.engine, row.image, tree({"solve.sh": "echo 1 > /app/left.txt"}), timeout_sec=30)
    with built.workshop.engine.container(ContainerSpec(image=row.image, role=Role.SUBJECT, deadline_sec=60)) as box:
        assert box.get_file("/app/left.txt", max_bytes=100) is None
