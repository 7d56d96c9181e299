"""A Harbor task as a tree: the form that every consumer takes, and that the pipeline validated."""

import hashlib

from blocks.builder.solution import solution_files
from blocks.templates import render
from blocks.trees import File, Tree, digest
from tasks.publish.config import CARD_COLUMNS, card, description, task_config
from tasks.publish.digest import TaskUnpublishableError, check_packaged
from tasks.publish.environment import PackageLoader, environment_files
from tasks.publish.member import Member, require_admitted


def harbor_task(member: Member, package: PackageLoader, organisation: str) -> dict[str, File]:
    """The files of the task folder `member.task_id`.

    Args:
        member: an admitted environment.
        package: gives the bytes of a distribution by sha256 and file name.
        organisation: the `org` of the task name.

    Raises:
        PermanentError: the member may not be published, or a distribution is not what its hash says.
        TaskUnpublishableError: something in it cannot travel, or the instruction is empty.
    """
    require_admitted(member)
    if not member.instruction.strip():
        raise TaskUnpublishableError(f"candidate {member.candidate.candidate_id}: the instruction is empty")
    if "test.sh" not in member.tests:
        raise TaskUnpublishableError(f"candidate {member.candidate.candidate_id}: tests/test.sh is missing")
    parts = {
        "environment": environment_files(member.recipe, member.start, _checked(package), member.runtime),
        "solution": solution_files(member.start, member.solution),
        "tests": _without_bytecode(member.tests),
    }
    tree = {f"{folder}/{path}": file for folder, files in parts.items() for path, file in files.items()}
    tree["task.toml"] = File(content=task_config(member, organisation))
    tree["instruction.md"] = File(content=member.instruction.encode(errors="replace"))
    tree["README.md"] = File(content=_readme(member, parts))
    check_packaged(tree)
    return dict(sorted(tree.items()))


def _checked(package: PackageLoader) -> PackageLoader:
    def load(sha256: str, filename: str) -> bytes:
        content = package(sha256, filename)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise TaskUnpublishableError(f"package {filename}: the bytes do not match its hash; fetch it again")
        return content

    return load


def _without_bytecode(tests: Tree) -> dict[str, File]:
    return {path: file for path, file in tests.items() if "__pycache__" not in path.split("/")}


def _readme(member: Member, parts: dict[str, dict[str, File]]) -> bytes:
    measured = card(member)
    return render(
        "task-readme.md.j2",
        member=member,
        name="/".join(member.repository_parts()),
        description=description(member),
        card=[(column, measured.get(column)) for column in CARD_COLUMNS],
        digests={
            "start tree": digest(member.start),
            "solution tree": digest(member.solution),
            **{f"{folder}/": digest(files) for folder, files in parts.items()},
        },
    )
