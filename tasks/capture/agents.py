"""Runs that need no model: nop does nothing, oracle runs the published solution, both in the agent's own container."""

import time
from dataclasses import dataclass

from blocks.builder.places import AGENT_UID, AGENT_USER, WORKSPACE
from blocks.engine import ContainerSpec, Engine, Role
from blocks.trees import File, Tree

SOLUTION = "/solution"


@dataclass(frozen=True)
class Session:
    """What a run left: the workspace as data, and what was done."""

    workspace: dict[str, File]
    commands: tuple[tuple[str, str, int | None], ...]
    """Command, its output, its exit code."""
    exit_reason: str
    seconds: float


def run_agent(engine: Engine, image: str, solution: Tree | None, *, timeout_sec: int) -> Session:
    """Run oracle (a solution tree with solve.sh) or nop (None) as the agent user, without a network.

    The container is stopped before its workspace is copied out; links that leave it and special files are dropped.
    """
    started = time.monotonic()
    commands: list[tuple[str, str, int | None]] = []
    reason = "completed"
    spec = ContainerSpec(
        image=image, role=Role.SUBJECT, user=AGENT_USER, workdir=WORKSPACE, deadline_sec=timeout_sec + 120
    )
    with engine.container(spec) as box:
        if solution is not None:
            box.put_tree(solution, SOLUTION, uid=AGENT_UID, gid=AGENT_UID)
            argv = ["bash", f"{SOLUTION}/solve.sh"]
            done = box.run(argv, timeout_sec=timeout_sec)
            commands.append((" ".join(argv), done.output, done.exit_code))
            reason = "timeout" if done.timed_out else "completed" if done.exit_code == 0 else "error"
        box.stop()
        workspace = box.get_tree(WORKSPACE, max_bytes=1 << 30)
    return Session(workspace, tuple(commands), reason, time.monotonic() - started)
