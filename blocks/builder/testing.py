"""Runs of a project's tests in a container, through the same grader package that is published with each environment."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

import blocks.grader
from blocks.builder.places import GRADER, PYTHON, SYSTEM_PYTHON, WORKSPACE
from blocks.engine import Container, ExecResult
from blocks.errors import PermanentError
from blocks.recipe import Recipe
from blocks.trees import File
from blocks.vectors import TestVector

_MAX_VECTOR = 256 << 20
_MEMORY = "it used more memory than it may"


def grader_tree() -> dict[str, File]:
    """The grader package as it is copied into containers and published tasks: its Python files, reporters for Node.js."""
    root = Path(blocks.grader.__file__).parent
    paths = sorted(path for path in root.rglob("*") if path.suffix in (".py", ".cjs", ".mjs"))
    return {path.relative_to(root).as_posix(): File(content=path.read_bytes()) for path in paths}


def observe(box: Container, recipe: Recipe, *, timeout_sec: int) -> TestVector:
    """Run the whole suite of the workspace as the container's own unprivileged user and return what each test did.

    What runs there can end the grader or write in its place: where no vector is left, or none that can be read, the run
    is not complete, and its log says what was seen.
    """
    files, options = _RUNNERS[recipe.runner](recipe)
    files["environment.json"] = json.dumps(dict(recipe.environment))
    grader = {f"grader/{path}": file for path, file in grader_tree().items()}
    box.put_tree({**grader, **{path: File(content=text.encode()) for path, text in files.items()}}, GRADER)
    out = "/tmp/vector.json"
    done = box.run(
        [SYSTEM_PYTHON, "-I", "-S", f"{GRADER}/grader", "observe", "--workspace", WORKSPACE]
        + ["--folder", recipe.folder]
        + ["--runner", recipe.runner, *options, "--environment-json", f"@{GRADER}/environment.json"]
        + ["--timeout", str(timeout_sec), "--out", out],
        timeout_sec=timeout_sec + 60,
    )
    if done.ok and (vector := _read_vector(box, out)) is not None:
        limit = _MEMORY if not vector.complete and box.ran_out_of_memory() else ""
        return vector.model_copy(update={"limit": limit})
    return TestVector(
        results={},
        complete=False,
        timed_out=done.timed_out,
        exit_code=done.exit_code,
        limit=_limit(done),
        log_tail=done.output[-8000:] or f"the grader ended with {done.exit_code} and left no vector",
    )


def _read_vector(box: Container, path: str) -> TestVector | None:
    try:
        content = box.get_file(path, max_bytes=_MAX_VECTOR)
        return TestVector.model_validate_json(content) if content is not None else None
    except (PermanentError, ValidationError):
        return None


def _limit(done: ExecResult) -> str:
    if done.written_limit:
        return "it wrote more than it may"
    if done.out_of_memory:
        return _MEMORY
    return "" if done.timed_out or not done.container_ended else "its container ended"


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
