"""What a published task holds under tests/: hidden tests, base copies of protected files, the grader and its spec."""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, replace

from blocks.builder.testing import grader_tree
from blocks.grader.policy import own_modules, protected_paths
from blocks.grader.spec import GraderSpec
from blocks.trees import File
from blocks.vectors import StateComparison
from tasks.synthesis.ingredients import Ingredients, digests
from tasks.synthesis.runner_suite import runner_suite

_SCRIPT = """#!/bin/bash
# Grades the workspace at /app and writes /logs/verifier/reward.json; see README.md beside the task.
set -u
cd /
exec /usr/bin/python3 -I -S /tests/grader grade --spec /tests/spec.json --out /logs/verifier
"""
_CONFIG = frozenset({"pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py"})


@dataclass(frozen=True)
class Suite:
    """A verifier ready to run: its spec and its tree."""

    spec: GraderSpec
    tests: dict[str, File]


def build_suite(ingredients: Ingredients, wanted: StateComparison) -> Suite:
    """The suite that asks for exactly the given tests."""
    hidden = {path: file for path, file in ingredients.hidden.items() if file.link is None}
    is_pytest = ingredients.recipe.runner == "pytest"
    spec, base = _pytest_suite(ingredients, wanted) if is_pytest else runner_suite(ingredients, wanted)
    tests: dict[str, File] = {
        "test.sh": File(content=_SCRIPT.encode(), executable=True),
        "spec.json": File(content=spec.to_json().encode()),
        **{f"grader/{path}": file for path, file in grader_tree().items()},
        **{f"hidden/{path}": file for path, file in hidden.items()},
        **{f"base/{path}": file for path, file in base.items()},
    }
    return Suite(spec, tests)


def _pytest_suite(ingredients: Ingredients, wanted: StateComparison) -> tuple[GraderSpec, dict[str, File]]:
    ids = (*wanted.fail_to_pass, *wanted.pass_to_pass)
    files = tuple(dict.fromkeys(test.split("::", 1)[0] for test in ids))
    hidden = {path: file for path, file in ingredients.hidden.items() if file.link is None}
    roots = ingredients.recipe.source_roots
    spec = GraderSpec(
        fail_to_pass=wanted.fail_to_pass,
        pass_to_pass=wanted.pass_to_pass,
        test_files=files,
        hidden=digests(hidden),
        protected_patterns=_protected(ingredients),
        open_paths=tuple(f"/{path}" for path in ingredients.open_paths),
        own_modules=own_modules(ingredients.start, source_roots=roots, test_files=files),
        source_roots=roots,
        folder=ingredients.recipe.folder,
        ini_lines=ingredients.recipe.ini_lines,
        arguments=ingredients.recipe.arguments,
        environment=dict(ingredients.recipe.environment),
        timeout_sec=float(ingredients.timeout_sec),
    )
    base = _base_files(ingredients, spec)
    return replace(spec, base=digests(base)), base


def _protected(ingredients: Ingredients) -> tuple[str, ...]:
    """Tests and configuration of the start tree, and the tests the outcome deletes; links are nobody's to protect."""
    links = {path for path, file in ingredients.start.items() if file.link is not None}
    configuration = config_paths(ingredients.recipe.folder)
    paths = {*ingredients.test_paths, *ingredients.removed_tests, *configuration} - set(ingredients.hidden)
    return tuple(f"/{path}" for path in sorted(paths - links - set(ingredients.open_paths)))


def _base_files(ingredients: Ingredients, spec: GraderSpec) -> dict[str, File]:
    """What a submission may not decide about, as the start tree has it."""
    closed = protected_paths(ingredients.start, spec) - set(ingredients.hidden) - set(ingredients.removed_tests)
    return {path: file for path, file in ingredients.start.items() if path in closed and file.link is None}


def config_paths(folder: str) -> frozenset[str]:
    """Where the configuration of a project lies: in its folder, and at the root of the workspace."""
    return _CONFIG | {posixpath.normpath(posixpath.join(folder, name)) for name in _CONFIG}


def open_paths(changed: Iterable[str], folder: str = ".") -> tuple[str, ...]:
    """Of the paths the outcome changes, those that would otherwise be protected. `folder`: the project's."""
    return tuple(sorted(config_paths(folder).intersection(changed)))
