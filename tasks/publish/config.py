"""task.toml, schema 1.4 (harbor 0.26, models/task/config.py): what the runner reads, and the card as metadata."""

import tomllib
from pathlib import Path

import tomli_w

from blocks.builder.places import AGENT_USER, WORKSPACE
from tasks.publish.member import Member

BUILD_TIMEOUT_SEC = 1800
CARD_COLUMNS = (
    "fail_to_pass",
    "pass_to_pass",
    "pass_to_fail",
    "nop_reward",
    "stub_reward",
    "oracle_reward",
    "repeats",
    "flips",
    "hunks_required",
    "hunks_detected",
    "mutants",
    "mutants_killed",
    "twins",
    "guess_odds",
    "attacks",
    "attack_wins",
    "coupling_findings",
)
"""Columns of the quality card, in the order they are shown. One that is missing has not been measured."""

Scalar = str | int | float | bool


def task_config(member: Member, organisation: str) -> bytes:
    """The whole task.toml. `[environment].docker_image` serves the separate verifier too (it gets tests/ uploaded)."""
    document = {
        "schema_version": "1.4",
        "artifacts": [WORKSPACE],
        "task": {
            "name": f"{organisation}/{member.task_id}",
            "description": description(member),
            "keywords": keywords(member),
            "authors": [{"name": organisation}],
        },
        "metadata": metadata(member),
        "agent": {"timeout_sec": float(member.agent_timeout_sec), "user": AGENT_USER},
        "verifier": {"timeout_sec": float(member.timeout_sec), "environment_mode": "separate"},
        "environment": {
            "docker_image": member.environment.image,
            "workdir": WORKSPACE,
            "network_mode": "no-network",
            "build_timeout_sec": float(BUILD_TIMEOUT_SEC),
            "cpus": member.cpus,
            "memory_mb": member.memory_mb,
        },
    }
    return tomli_w.dumps(document).encode()


def description(member: Member) -> str:
    """One line for lists of tasks. Holds nothing of the instruction."""
    name = "/".join(member.repository_parts())
    return f"A user's request to a coding agent on {name}, graded by {member.verifier.fail_to_pass} hidden tests."


def keywords(member: Member) -> list[str]:
    """Words to find the task by."""
    words = ["envmill", "coding", member.recipe.stack, member.candidate.language, member.verifier.tier]
    return list(dict.fromkeys(word.lower() for word in words if word))


def metadata(member: Member) -> dict[str, Scalar | dict[str, Scalar]]:
    """Provenance and quality card. Holds no value that two runs of the same work would fill differently."""
    values: dict[str, Scalar | dict[str, Scalar] | None] = {
        "repository": member.candidate.repository,
        "start_commit": member.candidate.start_commit,
        "licence": member.licence,
        "language": member.candidate.language or member.recipe.stack,
        "stack": member.recipe.stack,
        "runtime": member.recipe.runtime,
        "as_of": member.recipe.as_of,
        "source": member.candidate.source,
        "consent_scopes": member.candidate.consent_scopes,
        "start_fidelity": member.candidate.start_fidelity,
        "candidate_id": member.candidate.candidate_id,
        "environment_id": member.environment.environment_id,
        "verifier_id": member.verifier.verifier_id,
        "tier": member.verifier.tier,
        "grade": member.verifier.grade,
        "envmill_version": envmill_version(),
        "card": card(member),
    }
    return {name: value for name, value in values.items() if value is not None}


def card(member: Member) -> dict[str, Scalar]:
    """The measured columns of the quality card."""
    values = {name: getattr(member.verifier, name) for name in CARD_COLUMNS}
    return {name: value for name, value in values.items() if value is not None}


def envmill_version() -> str:
    """Version of the program, as pyproject.toml has it: envmill runs from its checkout."""
    document = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    return str(document["project"]["version"])
