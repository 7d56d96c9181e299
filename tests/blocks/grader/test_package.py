"""The package must work alone: copied to a machine without envmill, under any Python from 3.8."""

import ast
import sys
from pathlib import Path

import pytest

from blocks.grader.pytest_runner import INSIDE
from blocks.grader.report import _KINDS
from blocks.records import FailureKind
from tests.blocks.grader.conftest import GRADER

SOURCES = sorted(GRADER.rglob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(GRADER)))
def test_nothing_but_itself_and_the_standard_library_is_imported(source: Path) -> None:
    tree = ast.parse(source.read_text(), feature_version=(3, 8))
    inside = source.parent.name == "inside"
    allowed = set(sys.stdlib_module_names) | ({"pytest"} if inside else set())
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1, "a relative import that leaves the package"
            names = [node.module or ""] if node.level == 0 else []
        assert {name.partition(".")[0] for name in names} <= allowed
    assert "from __future__ import annotations" in source.read_text() or not any(
        isinstance(node, ast.FunctionDef) for node in ast.walk(tree)
    ), "annotations of this package are newer than Python 3.8"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(GRADER)))
def test_no_alias_of_a_type_is_made_at_run_time(source: Path) -> None:
    """Python 3.8 can subscript neither `tuple` nor what is in collections.abc; annotations it does not evaluate."""
    names = {"Callable", "Iterable", "Iterator", "Mapping", "Sequence", "tuple", "dict", "list", "set", "frozenset"}
    for statement in ast.parse(source.read_text()).body:
        if isinstance(statement, ast.Assign):
            found = [node for node in ast.walk(statement.value) if isinstance(node, ast.Subscript)]
            assert not [node for node in found if isinstance(node.value, ast.Name) and node.value.id in names]


def test_all_of_inside_is_carried_to_the_subject() -> None:
    assert {path.name for path in GRADER.joinpath("inside").glob("*.py")} == set(INSIDE)


def test_failure_kinds_are_those_of_the_records() -> None:
    assert {kind.value for kind in FailureKind} == _KINDS
