"""Which folder a test's project is, and what CI and pytest's configuration say of one folder among several."""

import pytest

from blocks.records import ReasonCode
from tasks.archaeology.commands import Commands, read_script, runs_tests_of
from tasks.archaeology.node.manifests import read_manifests
from tasks.archaeology.node.project import node_home
from tasks.archaeology.pytest_config import read_pytest_config
from tasks.archaeology.python_names import python_names
from tasks.archaeology.python_project import python_home
from tasks.archaeology.stack import Facts, NoPlan
from tasks.archaeology.stacks import Choice, plan_build
from tasks.archaeology.workflows import read_automation
from tests.tasks.archaeology.test_plan import WHEN
from tests.tasks.monorepos import START, of_the_backend, of_the_frontend
from tests.trees import tree

PROJECT = '[project]\nname = "a"\n'
ROOT: dict[str, str | bytes] = {
    "package.json": '{"workspaces": ["packages/*", "!packages/out"]}',
    "package-lock.json": "{}",
}


@pytest.mark.parametrize(
    ("files", "path", "home"),
    [
        ({"pyproject.toml": PROJECT, "tests/requirements.txt": "six"}, "tests/test_a.py", "."),
        ({"pyproject.toml": "[tool.ruff]\n", "server/requirements.txt": "six"}, "server/tests/test_a.py", "server"),
        ({"pyproject.toml": "[tool.ruff]\n", "tests/requirements.txt": "six"}, "tests/test_a.py", "."),
        ({"pyproject.toml": PROJECT, "packages/py/setup.py": ""}, "packages/py/a/test_a.py", "packages/py"),
        ({"pyproject.toml": "not toml = [", "a/Pipfile": ""}, "a/test_a.py", "."),
        ({"backend/pyproject.toml": PROJECT}, "frontend/test_a.py", None),
        ({"with space/pyproject.toml": PROJECT}, "with space/test_a.py", None),
    ],
)
def test_the_python_project_of_a_test(files: dict[str, str | bytes], path: str, home: str | None) -> None:
    assert python_home(path, tree(files)) == home


@pytest.mark.parametrize(
    ("files", "path", "home"),
    [
        ({**ROOT, "packages/a/package.json": "{}", "packages/a/yarn.lock": ""}, "packages/a/a.test.js", "."),
        ({**ROOT, "packages/out/package.json": "{}", "packages/out/yarn.lock": ""}, "packages/out/a.js", "packages/out"),
        ({**ROOT, "site/package.json": "{}", "site/yarn.lock": ""}, "site/test/a.js", "site"),
        ({"package.json": "{}", "test/fixture/package.json": "{}"}, "test/fixture/a.test.js", "."),
        ({"package.json": "{}", "pnpm-workspace.yaml": "packages:\n  - 'x/**' # y\n", "x/y/package.json": "{}"}, "x/y/a", "."),
        (
            {"package.json": "{}", "web/package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "*"}}'},
            "web/a.test.js",
            "web",
        ),
        ({"web/package.json": "{}"}, "a.test.js", None),
    ],
)  # fmt: skip
def test_the_javascript_project_of_a_test(files: dict[str, str | bytes], path: str, home: str | None) -> None:
    made = tree(files)
    assert node_home(path, made, read_manifests(made)) == home


def test_what_a_script_says_of_one_folder() -> None:
    script = (
        "pip install ./backend[test] -r shared.txt\n(cd frontend && pip install black && pytest)\ncd backend\n"
        "pip install -r dev.txt -e ../other\npython -m pytest --import-mode=importlib\napt-get install libpq-dev"
    )
    found = read_script(script, python_names(), folder="backend")
    assert found == Commands(
        system_packages=("libpq-dev",),
        requirements=(".[test]",),
        requirement_files=("../shared.txt", "dev.txt"),
        arguments=("--import-mode=importlib",),
        from_root=True,
    )
    above = read_script("python -m pytest --ignore=x backend/tests", python_names(), folder="backend")
    assert above == Commands(above=("..",))
    assert runs_tests_of(script, "backend") and runs_tests_of(script, "frontend") and not runs_tests_of(script, "other")


def test_workflows_count_where_they_test_the_folder() -> None:
    start = tree({path: text for path, text in START.items() if text is not None})
    found = read_automation(start, python_names(), "backend")
    assert (found.pythons, found.commands.requirement_files) == (("3.11",), ("../requirements-shared.txt",))
    assert not read_automation(start, python_names(), "frontend").pythons


def test_configuration_of_a_folder_above() -> None:
    above: dict[str, str | bytes] = {
        "pytest.ini": "[pytest]\npythonpath = . lib\ntestpaths = a\nmarkers = slow\n",
        "a/setup.cfg": "[x]\n",
    }
    found = read_pytest_config(tree(above), "a")
    assert found.ini_lines == ("pythonpath = .. ../lib", "markers = slow")
    own = read_pytest_config(tree({**above, "a/tox.ini": "[pytest]\ntestpaths = t\n"}), "a")
    assert (own.ini_lines, own.found_in) == (("testpaths = t",), "a/tox.ini")


def test_the_project_with_most_tests_is_planned_and_the_others_are_said() -> None:
    for project, stack, folder in ((of_the_backend(), "python", "backend"), (of_the_frontend(), "node", "frontend")):
        start: dict[str, str | bytes] = {path: text for path, text in project.start.items() if text is not None}
        changed: dict[str, str | bytes] = {path: text for path, text in project.change.items() if text is not None}
        hidden = tuple(sorted(path for path in changed if "/test" in path))
        found = plan_build(tree(start), tree({**start, **changed}), Facts(WHEN, None, hidden))
        assert isinstance(found, Choice), found
        recipe = found.planned.recipe
        assert (recipe.stack, recipe.folder, len(found.unbuilt)) == (stack, folder, 1)
        if recipe.node is not None:
            assert {suite.folder for suite in recipe.node.suites} == {folder}
        else:
            assert recipe.source_roots == ("backend/src", "backend") and "six" in recipe.requirements
    nothing = plan_build(tree({}), tree({"a/test_a.py": ""}), Facts(WHEN, None, ("a/test_a.py",)))
    assert isinstance(nothing, NoPlan) and nothing.reason_code is ReasonCode.STACK_NOT_SUPPORTED
