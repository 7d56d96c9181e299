"""Runs of a project's tests in a container, through the same grader package that is published with each environment."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import blocks.grader
from blocks.builder.places import GRADER, PYTHON, SYSTEM_PYTHON, WORKSPACE
from blocks.engine import Container
from blocks.errors import PermanentError
from blocks.recipe import Recipe
from blocks.trees import File
from blocks.vectors import TestVector


def grader_tree() -> dict[str, File]:
    """The grader package as it is copied into containers and published tasks: its Python files, reporters for Node.js."""
    root = Path(blocks.grader.__file__).parent
    paths = sorted(path for path in root.rglob("*") if path.suffix in (".py", ".cjs", ".mjs"))
    return {path.relative_to(root).as_posix(): File(content=path.read_bytes()) for path in paths}


def observe(box: Container, recipe: Recipe, *, timeout_sec: int) -> TestVector:
    """Run the whole suite of the workspace as the container's own unprivileged user and return what each test did.

    Raises:
        PermanentError: the grader left no vector although it ended by itself.
    """
    files, options = _RUNNERS[recipe.runner](recipe)
    files["environment.json"] = json.dumps(dict(recipe.environment))
    grader = {f"grader/{path}": file for path, file in grader_tree().items()}
    box.put_tree({**grader, **{path: File(content=text.encode()) for path, text in files.items()}}, GRADER)
    out = "/tmp/vector.json"
    done = box.run(
        [SYSTEM_PYTHON, "-I", "-S", f"{GRADER}/grader", "observe", "--workspace", WORKSPACE]
        + ["--runner", recipe.runner, *options, "--environment-json", f"@{GRADER}/environment.json"]
        + ["--timeout", str(timeout_sec), "--out", out],
        timeout_sec=timeout_sec + 60,
    )
    if done.timed_out or done.out_of_memory:
        return TestVector(results={}, complete=False, timed_out=done.timed_out, log_tail=done.output[-8000:])
    content = box.get_file(out, max_bytes=256 << 20)
    if content is None:
        raise PermanentError(f"the grader ended with {done.exit_code} and left no vector: {done.output[-1000:]}")
    return TestVector.model_validate_json(content)


def _pytest(recipe: Recipe) -> tuple[dict[str, str], list[str]]:
    files = {
        "pytest.ini": "\n".join(["[pytest]", *recipe.ini_lines, ""]),
        "arguments.json": json.dumps(list(recipe.arguments)),
    }
    named = ["--ini-file", f"{GRADER}/pytest.ini", "--arguments-json", f"@{GRADER}/arguments.json"]
    return files, ["--python", PYTHON, *named]


def _native(recipe: Recipe) -> tuple[dict[str, str], list[str]]:
    if recipe.build is None:
        raise PermanentError(f"the recipe of {recipe.project_name or 'a native project'} does not say how it is built")
    return {"build.json": recipe.build.model_dump_json()}, ["--build-json", f"@{GRADER}/build.json"]


def _node(recipe: Recipe) -> tuple[dict[str, str], list[str]]:
    if recipe.node is None:
        raise PermanentError(
            f"the recipe of {recipe.project_name or 'a Node.js project'} does not say how it is tested"
        )
    return {"build.json": recipe.node.model_dump_json()}, ["--build-json", f"@{GRADER}/build.json"]


_RUNNERS: Mapping[str, Callable[[Recipe], tuple[dict[str, str], list[str]]]] = {
    "pytest": _pytest,
    "native": _native,
    "node": _node,
}
"""By the recipe's runner: the files it needs, and its options."""
