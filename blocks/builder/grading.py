"""One verdict: a submission in a fresh container from the pristine environment image, decided by the published grader."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, ValidationError

from blocks.builder.places import AGENT_UID, TESTS, VERDICT, WORKSPACE
from blocks.engine import ContainerSpec, Engine, Role
from blocks.errors import PermanentError, TransientError
from blocks.records import Record
from blocks.trees import Tree
from blocks.vectors import TestVector


class _Reward(Record):
    reward: float


@dataclass(frozen=True)
class Verdict:
    """What the grader said."""

    reward: float
    vector: TestVector
    reasons: tuple[str, ...]
    seconds: float
    log: str
    sentinels: Mapping[str, str] = field(default_factory=dict)
    """What had to fail, and how it ended."""
    silent_files: tuple[str, ...] = ()
    """Test files whose planted tests did not all fail."""


def grade(engine: Engine, image: str, submission: Tree, tests: Tree, *, timeout_sec: int) -> Verdict:
    """Grade one workspace.

    Args:
        engine: where the container runs.
        image: the environment image.
        submission: the whole workspace as the agent left it; the container's own is emptied first.
        tests: what the task publishes under tests/.
        timeout_sec: deadline of the tests; the container gets two minutes on top.

    Raises:
        TransientError: no reward: the grader's control run failed too, so that nobody can say.
        PermanentError: the grader left no details, which no submission can cause.
    """
    started = time.monotonic()
    spec = ContainerSpec(image=image, role=Role.GRADER, user="root", deadline_sec=timeout_sec + 300)
    with engine.container(spec) as box:
        emptied = box.run(["find", WORKSPACE, "-mindepth", "1", "-delete"], user="root", timeout_sec=120)
        if not emptied.ok:
            raise TransientError(f"the workspace of a grading container could not be emptied: {emptied.output[-500:]}")
        box.put_tree(submission, WORKSPACE, uid=AGENT_UID, gid=AGENT_UID)
        box.put_tree(tests, TESTS)
        box.run(["mkdir", "-p", VERDICT], user="root", timeout_sec=30)
        done = box.run(["bash", f"{TESTS}/test.sh"], user="root", timeout_sec=timeout_sec + 120)
        details = box.get_file(f"{VERDICT}/details.json", max_bytes=256 << 20)
        reward = box.get_file(f"{VERDICT}/reward.json", max_bytes=4096)
    seconds = time.monotonic() - started
    if details is None:
        if done.timed_out or done.out_of_memory or done.written_limit:
            empty = TestVector(results={}, complete=False, timed_out=done.timed_out, log_tail=done.output[-8000:])
            return Verdict(0.0, empty, ("the container ran out of time, memory or disk",), seconds, done.output)
        raise PermanentError(f"the grader ended with {done.exit_code} and left no details: {done.output[-1500:]}")
    told = _details(details)
    vector, reasons = told.vector, told.reasons
    if reward is None:
        raise TransientError(f"grading in {image} gave no reward ({', '.join(reasons)}): {done.output[-1000:]}")
    return Verdict(
        _Reward.model_validate_json(reward).reward,
        vector,
        reasons,
        seconds,
        done.output,
        told.sentinels,
        told.silent_files,
    )


class _Details(BaseModel):
    """What is read of details.json; it says more, for people."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    vector: TestVector = TestVector(results={}, complete=False)
    reasons: tuple[str, ...] = ()
    sentinels: dict[str, str] = {}
    silent_files: tuple[str, ...] = ()


def _details(content: bytes) -> _Details:
    try:
        return _Details.model_validate_json(content)
    except ValidationError as error:
        raise PermanentError(f"the grader's details.json is not what it should be: {error}") from None
