import io
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from blocks.builder.solution import solution_files
from blocks.errors import PermanentError
from blocks.trees import File, Tree, unpack
from tasks.publish.digest import TaskUnpublishableError, task_digest
from tasks.publish.harbor import harbor_task
from tests.tasks.publish.members import (
    INSTRUCTION,
    SOLUTION,
    START,
    TESTS,
    WHEEL,
    a_member,
    a_recipe,
    a_verifier,
    load_wheel,
)


def write(tree: Tree, root: Path) -> None:
    for path, file in tree.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.link is not None:
            target.symlink_to(file.link)
        else:
            target.write_bytes(file.content)
            target.chmod(0o755 if file.executable else 0o644)


def read(root: Path) -> dict[str, File]:
    tree = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            tree[str(path.relative_to(root))] = File(link=str(path.readlink()))
        elif path.is_file():
            executable = bool(path.stat().st_mode & 0o100)
            tree[str(path.relative_to(root))] = File(content=path.read_bytes(), executable=executable)
    return tree


def test_the_whole_task_says_what_the_runner_needs() -> None:
    member = a_member()
    tree = harbor_task(member, load_wheel, "some-org")
    config = tomllib.loads(tree["task.toml"].content.decode())

    assert re.fullmatch(r"[a-z0-9-]+", member.task_id)
    assert config["schema_version"] == "1.4"
    assert config["artifacts"] == ["/app"]
    assert config["task"]["name"] == f"some-org/{member.task_id}"
    assert config["agent"] == {"timeout_sec": 1800.0, "user": "agent"}
    assert config["verifier"] == {"timeout_sec": 120.0, "environment_mode": "separate"}
    assert config["environment"]["docker_image"] == member.environment.image
    assert config["environment"]["network_mode"] == "no-network"
    assert config["metadata"]["card"]["oracle_reward"] == 1.0
    assert "mutants" not in config["metadata"]["card"]
    assert tree["instruction.md"].content.decode() == INSTRUCTION
    assert tree["environment/vendor/thing-1.0-py3-none-any.whl"].content == WHEEL
    assert not any(file.link for file in tree.values())
    assert not any("__pycache__" in path for path in tree)
    assert tree["tests/test.sh"].executable
    assert "| mutants | – |" in tree["README.md"].content.decode()


def test_neither_solution_nor_hidden_tests_nor_volatile_values_reach_the_agent_or_the_digest() -> None:
    member = a_member()
    tree = harbor_task(member, load_wheel, "org")
    secret = SOLUTION["calc/core.py"].content
    assert not any(secret in file.content for path, file in tree.items() if path.startswith("environment/"))
    assert secret not in tree["instruction.md"].content

    rebuilt = member.environment.model_copy(update={"image_id": "sha256:other", "build_seconds": 9.0, "size_bytes": 7})
    assert task_digest(harbor_task(a_member(environment=rebuilt), load_wheel, "org")) == task_digest(tree)


def test_the_workspace_tar_is_the_start_tree_owned_by_the_agent() -> None:
    tar = harbor_task(a_member(), load_wheel, "org")["environment/workspace.tar"].content
    assert unpack(io.BytesIO(tar)) == START


def test_the_dockerfile_passes_values_on_as_they_are() -> None:
    task = harbor_task(a_member(recipe=a_recipe(install="editable")), load_wheel, "org")
    text = task["environment/Dockerfile"].content.decode()
    assert "ENV CALC_MODE='a \"b\" $HOME \\'" in text
    assert "--editable /app" in text
    assert "git" not in text
    assert "environment/project/envmill_project.pth" not in task


@pytest.mark.parametrize(
    "changes",
    [
        {"system_packages": ("libfoo; rm -rf /",)},
        {"environment": (("A", "b\nUSER root"),)},
        {"environment": (("A=", "b"),)},
    ],
)
def test_a_recipe_cannot_write_its_own_dockerfile_lines(changes: dict[str, object]) -> None:
    with pytest.raises(PermanentError, match="correct the recipe"):
        harbor_task(a_member(recipe=a_recipe(**changes)), load_wheel, "org")


def test_solve_turns_the_start_tree_into_the_solution_and_may_run_twice(tmp_path: Path) -> None:
    app, solution = tmp_path / "app", tmp_path / "solution"
    write(START, app)
    files = solution_files(START, SOLUTION)
    files["solve.sh"] = File(content=files["solve.sh"].content.replace(b"cd /app", f"cd '{app}'".encode()))
    write({path: file.model_copy(update={"executable": False}) for path, file in files.items()}, solution)

    for _ in range(2):
        subprocess.run(["bash", str(solution / "solve.sh")], check=True, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"})
        assert read(app) == SOLUTION
    assert not (app / "docs").exists()
    assert "files/calc/__init__.py" not in files


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verifier": a_verifier("c0ffee0123456789", tier="quarantine")}, "quarantine"),
        ({"verifier": a_verifier("c0ffee0123456789", status="rejected")}, "rejected"),
        ({"verifier": a_verifier("another")}, "another environment"),
        ({"instruction": " \n"}, "instruction is empty"),
        ({"tests": {}}, "test.sh is missing"),
        ({"tests": {**TESTS, "hidden/.harborignore": File(content=b"*")}}, "harborignore"),
        ({"tests": {**TESTS, "hidden/link": File(link="../test.sh")}}, "is a link"),
    ],
)
def test_what_must_not_be_published_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(PermanentError, match=message):
        harbor_task(a_member(**changes), load_wheel, "org")


def test_a_distribution_that_is_not_what_its_hash_says_is_refused() -> None:
    with pytest.raises(TaskUnpublishableError, match=r"thing-1\.0"):
        harbor_task(a_member(), lambda _sha256, _filename: b"other", "org")


def test_the_digest_counts_packaged_files_only() -> None:
    tree = {"task.toml": File(content=b"a"), "tests/test.sh": File(content=b"b", executable=True)}
    same = {**tree, "metadata.json": File(content=b"c"), "tests/test.sh": File(content=b"b")}
    # printf 'task.toml\0<sha256 of a>\ntests/test.sh\0<sha256 of b>\n' | sha256sum
    assert task_digest(tree) == "sha256:45aa59ba43e8855261a99227fb50da0b53217e09c3878de2c43caad3c0bdf8e8"
    assert task_digest(same) == task_digest(tree)


@pytest.mark.parametrize(
    "repository", ["https://host", "git@host:a/B", "/some where/x.bundle", "https://h/a/b/" + "c" * 99]
)
def test_task_ids_are_plain_whatever_the_repository_is_called(repository: str) -> None:
    member = a_member(candidate=a_member().candidate.model_copy(update={"repository": repository}))
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", member.task_id)
    assert len(member.task_id) <= 60
