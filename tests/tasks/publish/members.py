"""Values of a small environment, for the tests of this folder and of tests/peers."""

import hashlib
from datetime import UTC, datetime

from blocks.recipe import Package, Recipe
from blocks.records import (
    CandidateRow,
    EnvironmentRow,
    Outcome,
    ReasonCode,
    ReconstructionRow,
    RolloutRow,
    VerifierRow,
)
from blocks.trees import File
from tasks.capture.atif import Exchange, minimal_trajectory
from tasks.publish.member import Member

INSTRUCTION = "`add` gives the wrong sum. Please mend it, it's urgent.\n"
START = {
    "calc/__init__.py": File(content=b"from calc.core import add\n"),
    "calc/core.py": File(content=b"def add(a, b):\n    return a - b\n"),
    "calc/old.py": File(content=b"x = 1\n"),
    "run me.sh": File(content=b"#!/bin/sh\n", executable=True),
    "link": File(link="calc/core.py"),
    "docs/only/here.txt": File(content=b"gone later\n"),
}
SOLUTION = {
    "calc/__init__.py": START["calc/__init__.py"],
    "calc/core.py": File(content=b"def add(a, b):\n    return a + b\n"),
    "calc/old.py/__init__.py": File(content=b"x = 1\n"),
    "run me.sh": File(content=b"#!/bin/sh\n"),
    "link": File(content=b"a file now\n"),
    "it's; rm -rf $HOME": File(content=b"\xff\x00binary"),
    "cache~": File(content=b"a name packagers leave out\n"),
    "new link": File(link="calc/core.py"),
}
TEST_SCRIPT = b"""#!/bin/bash
cd /
mkdir -p /logs/verifier
reward=0
if [ "$(cat /app/calc/core.py)" = "$(cat /tests/hidden/calc/core.py)" ]; then reward=1; fi
echo "$reward" > /logs/verifier/reward.txt
printf '{"reward": %s}\\n' "$reward" > /logs/verifier/reward.json
"""
TESTS = {
    "test.sh": File(content=TEST_SCRIPT, executable=True),
    "hidden/calc/core.py": SOLUTION["calc/core.py"],
    "grader/__pycache__/x.cpython-311.pyc": File(content=b"\0"),
}
WHEEL = b"not really a wheel"


def a_wheel() -> Package:
    return Package(
        name="thing", version="1.0", filename="thing-1.0-py3-none-any.whl", sha256=hashlib.sha256(WHEEL).hexdigest()
    )


def load_wheel(sha256: str, filename: str) -> bytes:
    assert (sha256, filename) == (a_wheel().sha256, a_wheel().filename)
    return WHEEL


def a_recipe(**changes: object) -> Recipe:
    values: dict[str, object] = {
        "stack": "python",
        "runtime": "3.11",
        "as_of": "2025-06-01T00:00:00Z",
        "packages": (a_wheel(),),
        "project_name": "calc",
        "project_version": "0.1.0",
        "install": "path",
        "environment": (("CALC_MODE", 'a "b" $HOME \\'),),
    }
    return Recipe.model_validate(values | changes)


def a_verifier(candidate_id: str, **changes: object) -> VerifierRow:
    values: dict[str, object] = dict.fromkeys(VerifierRow.model_fields) | {
        "candidate_id": candidate_id,
        "environment_id": f"env-{candidate_id}",
        "verifier_id": f"ver-{candidate_id}",
        "grade": "B",
        "tier": "train",
        "fail_to_pass": 2,
        "pass_to_pass": 5,
        "pass_to_fail": 0,
        "nop_reward": 0.0,
        "oracle_reward": 1.0,
        "repeats": 3,
        "flips": 0,
        "status": "admitted",
        "reason_code": ReasonCode.OK,
    }
    return VerifierRow.model_validate(values | changes)


def a_member(candidate_id: str = "c0ffee0123456789", **changes: object) -> Member:
    repository = "https://github.com/Some_Owner/calc.git"
    values: dict[str, object] = {
        "candidate": CandidateRow(
            candidate_id=candidate_id,
            contribution_id="k1",
            source="cline",
            repository=repository,
            start_commit="a" * 40,
            start_fidelity=None,
            instruction=INSTRUCTION,
            language="Python",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        ),
        "environment": EnvironmentRow(
            candidate_id=candidate_id,
            environment_id=f"env-{candidate_id}",
            image=f"envmill/env:{candidate_id}",
            image_id="sha256:" + "b" * 64,
            size_bytes=1,
            unique_bytes=1,
            build_seconds=1.0,
            leak_hits=0,
            status=Outcome.PASSED,
            reason_code=ReasonCode.OK,
            log_uri=None,
        ),
        "verifier": a_verifier(candidate_id),
        "reconstruction": ReconstructionRow(
            candidate_id=candidate_id,
            end_commit="e" * 40,
            files_changed=1,
            insertions=1,
            deletions=1,
            stack="python",
            runtime="3.11",
            as_of="2025-06-01T00:00:00Z",
            fail_to_pass=2,
            pass_to_pass=5,
            pass_to_fail=0,
            status=Outcome.PASSED,
            reason_code=ReasonCode.OK,
        ),
        "rollouts": tuple(a_rollout(candidate_id, agent, reward) for agent, reward in (("nop", 0.0), ("oracle", 1.0))),
        "instruction": INSTRUCTION,
        "recipe": a_recipe(),
        "start": START,
        "solution": SOLUTION,
        "tests": TESTS,
        "licence": "MIT",
        "timeout_sec": 120,
        "trajectories": {
            "nop": minimal_trajectory("nop", INSTRUCTION, [], session_id="n"),
            "oracle": minimal_trajectory(
                "oracle", INSTRUCTION, [Exchange(command="bash /solution/solve.sh", output="")], session_id="o"
            ),
        },
    }
    return Member(**(values | changes))  # type: ignore[arg-type]


def a_rollout(candidate_id: str, agent: str, reward: float) -> RolloutRow:
    return RolloutRow(
        candidate_id=candidate_id,
        rollout_id=f"{candidate_id}-{agent}",
        environment_id=f"env-{candidate_id}",
        agent=agent,
        model=None,
        reward=reward,
        exit_reason="finished",
        steps=1,
        tokens=None,
        cost_usd=None,
        seconds=1.0,
        trajectory_uri="file:///x",
    )
