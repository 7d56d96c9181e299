"""From two trees to what is asked of an index."""

from datetime import UTC, datetime

import pytest

from tasks.archaeology.plan import Plan, plan, version_of_tag
from tests.trees import tree

WHEN = datetime(2025, 6, 15, 12, 30, tzinfo=UTC)
BEFORE = """\
[build-system]
requires = ["setuptools>=61"]
[project]
name = "kettle"
dependencies = ["attrs", "six"]
optional-dependencies = {test = ["pytest>=7"], colour = ["rich"], docs = ["sphinx"]}
[tool.pytest.ini_options]
markers = ["slow"]
"""
AFTER = BEFORE.replace('"six"', '"tomli", "x @ https://example.org/x.whl"').replace('["slow"]', '["slow", "fast"]')


def test_the_union_of_both_states_the_solution_first() -> None:
    start, solution = tree({"pyproject.toml": BEFORE, "src/kettle/a.py": ""}), tree({"pyproject.toml": AFTER})
    found = plan(start, solution, as_of=WHEN, nearest_tag="v1.2")
    assert isinstance(found, Plan)
    assert set(found.solution_only) == {"attrs", "tomli", "pytest>=7", "setuptools>=61", "wheel"}
    assert set(found.union) == {*found.solution_only, "six"}
    assert set(found.full) == {*found.union, "rich"}
    assert found.left_out == ("x @ https://example.org/x.whl",)
    recipe = found.recipe
    assert (recipe.project_name, recipe.project_version, recipe.as_of) == ("kettle", "1.2", "2025-06-15T12:30:00Z")
    assert recipe.packages == () and recipe.source_roots == ("src", ".")
    assert "fast" in "".join(recipe.ini_lines), "the hidden tests are run as the solution is configured"


def test_one_tree_without_a_manifest() -> None:
    manifest, none = tree({"pyproject.toml": BEFORE}), tree({"a.py": ""})
    assert plan(manifest, none, as_of=WHEN, nearest_tag=None) is None
    assert plan(none, manifest, as_of=WHEN, nearest_tag=None) is None


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("v1.2.3", "1.2.3"),
        ("kettle-1.2", "1.2"),
        ("release/2.0.0rc1", "2.0.0rc1"),
        ("1.0.post2", "1.0.post2"),
        ("nightly", None),
        ("v1", None),
        (None, None),
    ],
)
def test_versions_of_tags(tag: str | None, version: str | None) -> None:
    assert version_of_tag(tag) == version
