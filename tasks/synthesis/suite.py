"""What a published task holds under tests/: hidden tests, base copies of protected files, the grader and its spec."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from blocks.builder.testing import grader_tree
from blocks.grader.policy import own_modules, protected_paths
from blocks.grader.spec import GraderSpec
from blocks.recipe import Recipe
from blocks.trees import File, Tree, overlay
from blocks.vectors import StateComparison

_SCRIPT = """#!/bin/bash
# Grades the workspace at /app and writes /logs/verifier/reward.json; see README.md beside the task.
set -u
cd /
exec /usr/bin/python3 -I -S /tests/grader grade --spec /tests/spec.json --out /logs/verifier
"""
_CONFIG = frozenset({"pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py"})


@dataclass(frozen=True)
class Ingredients:
    """What a verifier is made from."""

    start: Tree
    """The workspace of the environment image: the start tree and what the install left there."""
    change: Mapping[str, File | None]
    """What the solution writes over the start, hidden tests left out; None removes."""
    source_paths: tuple[str, ...]
    """Of the paths in `change`, those that hold source."""
    hidden: Tree
    removed_tests: tuple[str, ...]
    test_paths: tuple[str, ...]
    """Every test file of the start tree."""
    open_paths: tuple[str, ...]
    """Protected kinds of files (manifests, configuration) that the outcome itself changes."""
    recipe: Recipe
    timeout_sec: int

    def solved(self) -> dict[str, File]:
        """The workspace with the solution in it."""
        return overlay(self.start, self.change)


@dataclass(frozen=True)
class Suite:
    """A verifier ready to run: its spec and its tree."""

    spec: GraderSpec
    tests: dict[str, File]


def build_suite(ingredients: Ingredients, wanted: StateComparison) -> Suite:
    """The suite that asks for exactly the given tests."""
    ids = (*wanted.fail_to_pass, *wanted.pass_to_pass)
    files = tuple(dict.fromkeys(test.split("::", 1)[0] for test in ids))
    hidden = {path: file for path, file in ingredients.hidden.items() if file.link is None}
    roots = ingredients.recipe.source_roots
    spec = GraderSpec(
        fail_to_pass=wanted.fail_to_pass,
        pass_to_pass=wanted.pass_to_pass,
        test_files=files,
        hidden=_digests(hidden),
        protected_patterns=_protected(ingredients),
        open_paths=tuple(f"/{path}" for path in ingredients.open_paths),
        own_modules=own_modules(ingredients.start, source_roots=roots, test_files=files),
        source_roots=roots,
        ini_lines=ingredients.recipe.ini_lines,
        arguments=ingredients.recipe.arguments,
        environment=dict(ingredients.recipe.environment),
        timeout_sec=float(ingredients.timeout_sec),
    )
    base = _base_files(ingredients, spec)
    spec = replace(spec, base=_digests(base))
    tests: dict[str, File] = {
        "test.sh": File(content=_SCRIPT.encode(), executable=True),
        "spec.json": File(content=spec.to_json().encode()),
        **{f"grader/{path}": file for path, file in grader_tree().items()},
        **{f"hidden/{path}": file for path, file in hidden.items()},
        **{f"base/{path}": file for path, file in base.items()},
    }
    return Suite(spec, tests)


def _protected(ingredients: Ingredients) -> tuple[str, ...]:
    """Tests and configuration of the start tree, and the tests the outcome deletes; links are nobody's to protect."""
    links = {path for path, file in ingredients.start.items() if file.link is not None}
    paths = {*ingredients.test_paths, *ingredients.removed_tests, *_CONFIG} - set(ingredients.hidden)
    return tuple(f"/{path}" for path in sorted(paths - links - set(ingredients.open_paths)))


def _base_files(ingredients: Ingredients, spec: GraderSpec) -> dict[str, File]:
    """What a submission may not decide about, as the start tree has it."""
    closed = protected_paths(ingredients.start, spec) - set(ingredients.hidden) - set(ingredients.removed_tests)
    return {path: file for path, file in ingredients.start.items() if path in closed and file.link is None}


def open_paths(changed: Iterable[str]) -> tuple[str, ...]:
    """Of the paths the outcome changes, those that would otherwise be protected."""
    return tuple(sorted(path for path in changed if path in _CONFIG))


def _digests(tree: Mapping[str, File]) -> dict[str, str]:
    return {path: hashlib.sha256(file.content).hexdigest() for path, file in tree.items()}
