"""What one environment publishes: the rows that describe it and the trees that make it up."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from blocks.errors import PermanentError
from blocks.recipe import Package, Recipe
from blocks.records import CandidateRow, EnvironmentRow, ReconstructionRow, RolloutRow, VerifierRow
from blocks.trees import Tree

MAX_ID_LENGTH = 60


@dataclass(frozen=True)
class Member:
    """Everything of one admitted environment."""

    candidate: CandidateRow
    environment: EnvironmentRow
    verifier: VerifierRow
    reconstruction: ReconstructionRow
    rollouts: tuple[RolloutRow, ...]
    instruction: str
    """What the agent is told: redacted, otherwise verbatim."""
    recipe: Recipe
    start: Tree
    """The whole workspace the agent begins with."""
    solution: Tree
    """The whole workspace with the outcome in it."""
    tests: Tree
    """What lies under tests/: test.sh, spec.json, grader/, hidden/, base/."""
    licence: str
    """SPDX expression read at the start commit."""
    timeout_sec: int
    """Deadline of one whole grading (`[verifier].timeout_sec`)."""
    agent_timeout_sec: int = 1800
    runtime: tuple[Package, ...] = ()
    """What the runtime is made from, where Debian does not have it."""
    trajectories: Mapping[str, bytes] = field(default_factory=dict)
    """Agent name to the ATIF JSON of its rollout."""
    cpus: int = 2
    memory_mb: int = 4096
    """The limits validation ran under."""

    @property
    def task_id(self) -> str:
        """Folder name of the Harbor task: `<owner>-<name>-<candidate>`, of [a-z0-9-] only, at most 60 characters."""
        tail = slug(self.candidate.candidate_id)[:12].strip("-")
        head = slug("-".join(self.repository_parts()))[: MAX_ID_LENGTH - 1 - len(tail)].strip("-")
        return f"{head}-{tail}"

    def repository_parts(self) -> tuple[str, ...]:
        """The last two parts of the repository's public address, usually owner and name."""
        path = self.candidate.repository.split("://", 1)[-1].rstrip("/").removesuffix(".git")
        return tuple(part for part in re.split(r"[/:]", path)[1:] if part)[-2:] or (path,)


def slug(text: str) -> str:
    """`text` in the alphabet of task ids. Never empty."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def require_admitted(member: Member) -> None:
    """Refuse what must not be published.

    Raises:
        PermanentError: the verifier was not admitted, or is in quarantine, or belongs to another environment.
    """
    verifier = member.verifier
    name = f"candidate {member.candidate.candidate_id}"
    if verifier.status != "admitted" or verifier.tier not in ("eval", "train"):
        raise PermanentError(f"{name} is {verifier.status} in tier {verifier.tier}; only admitted ones are published")
    if verifier.environment_id != member.environment.environment_id:
        raise PermanentError(f"{name}: the verifier belongs to another environment; run the synthesis phase again")
