"""What a verifier's tests/ folder holds: by hand, for a start tree with everything a submission could bend."""

import hashlib
from dataclasses import replace

from blocks.grader.spec import GraderSpec
from blocks.recipe import Recipe
from blocks.trees import File
from blocks.vectors import StateComparison
from tasks.synthesis.ingredients import Ingredients
from tasks.synthesis.suite import build_suite, open_paths
from tests.trees import tree

START = {
    **tree(
        {
            "pyproject.toml": "[project]",
            "setup.cfg": "[metadata]",
            "conftest.py": "root",
            "src/kettle/core.py": "bug",
            "tests/conftest.py": "hooks",
            "tests/test_core.py": "old",
            "tests/test_gone.py": "x",
            "tests/data/a.json": "{}",
        }
    ),
    "tests/link.json": File(link="data/a.json"),
}
INGREDIENTS = Ingredients(
    start=START,
    change=tree({"src/kettle/core.py": "fix", "pyproject.toml": "[project]\nx = 1"}),
    source_paths=("src/kettle/core.py",),
    hidden={**tree({"tests/test_core.py": "new", "tests/test_new.py": "more"}), "tests/new_link": File(link="x")},
    removed_tests=("tests/test_gone.py",),
    test_paths=tuple(sorted(path for path in START if path.startswith("tests/"))),
    open_paths=("pyproject.toml",),
    recipe=Recipe(
        stack="python",
        runtime="3.11",
        as_of="x",
        source_roots=("src",),
        ini_lines=("a = b",),
        arguments=("-W", "error"),
    ),
    timeout_sec=77,
)
WANTED = StateComparison(
    fail_to_pass=("tests/test_new.py::t[a::b]", "tests/test_core.py::t"),
    pass_to_pass=("tests/test_core.py::TestX::t",),
    pass_to_fail=("tests/test_old.py::t",),
)


def test_the_solution_in_the_workspace() -> None:
    solved = INGREDIENTS.solved()
    assert solved["src/kettle/core.py"].content == b"fix"
    assert solved["tests/test_core.py"].content == b"old", "hidden tests are the grader's business"


def test_the_folder() -> None:
    suite = build_suite(INGREDIENTS, WANTED)
    files = {path: file.content for path, file in suite.tests.items() if not path.startswith("grader/")}
    assert {path: content for path, content in files.items() if "/" in path} == {
        "hidden/tests/test_core.py": b"new",
        "hidden/tests/test_new.py": b"more",
        "base/setup.cfg": b"[metadata]",
        "base/conftest.py": b"root",
        "base/tests/conftest.py": b"hooks",
        "base/tests/data/a.json": b"{}",
    }
    assert suite.tests["test.sh"].executable
    assert GraderSpec.from_json(files["spec.json"].decode()) == suite.spec
    assert "grader/__main__.py" in suite.tests
    assert not any(file.link for file in suite.tests.values()), "consumers copy links in different ways"


def test_the_spec() -> None:
    spec = build_suite(INGREDIENTS, WANTED).spec
    assert spec.test_files == ("tests/test_new.py", "tests/test_core.py")
    assert spec.whitelist == (*WANTED.fail_to_pass, *WANTED.pass_to_pass)
    assert spec.hidden["tests/test_new.py"] == hashlib.sha256(b"more").hexdigest()
    assert set(spec.base) == {"setup.cfg", "conftest.py", "tests/conftest.py", "tests/data/a.json"}
    assert "/tests/test_gone.py" in spec.protected_patterns and "tests/test_gone.py" not in spec.base, "stays removed"
    assert spec.open_paths == ("/pyproject.toml",) and "/pyproject.toml" not in spec.protected_patterns
    assert (spec.source_roots, spec.ini_lines, spec.arguments) == (("src",), ("a = b",), ("-W", "error"))
    assert spec.timeout_sec == 77


def test_equal_ingredients_give_equal_bytes() -> None:
    shuffled = replace(
        INGREDIENTS, start=dict(reversed(START.items())), hidden=dict(reversed(INGREDIENTS.hidden.items()))
    )
    assert build_suite(shuffled, WANTED).tests == build_suite(INGREDIENTS, WANTED).tests


def test_what_the_outcome_may_open() -> None:
    assert open_paths(["setup.cfg", "src/a.py", "docs/setup.cfg", "Makefile", "pyproject.toml"]) == (
        "pyproject.toml",
        "setup.cfg",
    )
