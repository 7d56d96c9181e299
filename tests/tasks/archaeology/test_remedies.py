"""The table of remedies: real words of real tools, and what is tried for them."""

import re
from datetime import UTC, datetime

import pytest

from blocks.trees import File
from tasks.archaeology.amend import amend
from tasks.archaeology.plan import Plan, plan
from tasks.archaeology.python_names import python_names
from tasks.archaeology.remedies import Action, Evidence, Fix, find_fixes, read_remedies

PYPROJECT = (
    '[project]\nname = "kettle"\nversion = "1"\ndependencies = ["attrs>=99; python_version>\'3\'", "Nope_Local"]\n'
    'requires-python = ">=3.9"\n[dependency-groups]\ntest = ["pytest", "kettle"]\n'
)


@pytest.fixture
def kettle() -> Plan:
    tree = {
        "pyproject.toml": File(content=PYPROJECT.encode()),
        "src/kettle/__init__.py": File(),
        "tests/test_a.py": File(),
        "tests/support/gauge.py": File(),
    }
    made = plan(tree, tree, as_of=datetime(2025, 6, 1, tzinfo=UTC), nearest_tag=None)
    assert isinstance(made, Plan)
    return made


SAID = [
    ("resolve", "  x No solution found:\n  Because nope-local was not found in the package registry and "
     "you require nope-local, we can conclude", ("drop_requirement", "nope-local")),
    ("resolve", "Because only attrs<=25.3.0 is available and you require attrs>=99", ("loosen_requirement", "attrs")),
    ("resolve", "ERROR: No matching distribution found for attrs==99", ("later", "7")),
    ("resolve", "src/_ext.c:4:10: fatal error: libxml/tree.h: No such file or directory", ("add_header", "libxml/tree.h")),
    ("install", "ModuleNotFoundError: No module named 'hatch_vcs'", ("add_module", "hatch_vcs")),
    ("install", "cc1: error: [-Werror=unused]", ("set_environment", "CFLAGS=-Wno-error")),
    ("install", "LookupError: setuptools-scm was unable to detect version for /app.", ("set_version", "1.0.0")),
    ("collect", "ModuleNotFoundError: No module named 'yaml'", ("add_module", "yaml")),
    ("collect", "ModuleNotFoundError: No module named 'distutils'", ("runtime", "older")),
    ("collect", "ModuleNotFoundError: No module named 'tomllib'", ("runtime", "newer")),
    ("collect", "ImportError: libGL.so.1: cannot open shared object file: No such file", ("add_library", "libGL.so.1")),
    ("collect", "launch.py: error: unrecognized arguments: --reruns=2", ("add_option", "--reruns")),
    ("collect", "'asyncio' not found in `markers` configuration option", ("add_fixture", "asyncio")),
    ("tests", "fixture 'mocker' not found", ("add_fixture", "mocker")),
    ("tests", "FileNotFoundError: [Errno 2] No such file or directory: 'less'", ("add_command", "less")),
    ("tests", "/bin/sh: 1: msgfmt: not found", ("add_command", "msgfmt")),
    ("tests", "locale.Error: unsupported locale setting", ("add_system_package", "locales-all")),
    ("tests", "AssertionError: assert 'a' == '\\x1b[31ma\\x1b[0m'", ("set_environment", "FORCE_COLOR=1")),
    ("skips", "could not import 'numpy': No module named 'numpy'", ("add_module", "numpy")),
    ("skips", "pandas is not installed", ("add_module", "pandas")),
    ("skips", "requires lxml", ("add_module", "lxml")),
]  # fmt: skip


@pytest.mark.parametrize(("log", "text", "expected"), SAID)
def test_real_words_find_their_remedy(log: str, text: str, expected: tuple[str, str]) -> None:
    evidence = Evidence.model_validate({log: text})
    (fix, *_) = find_fixes(read_remedies(), evidence, stack="python", tried=set())
    assert fix.key == expected
    assert fix.symptom in text
    again = find_fixes(read_remedies(), evidence, stack="python", tried={expected})
    assert expected not in {other.key for other in again}
    assert not find_fixes(read_remedies(), evidence, stack="another", tried=set())


def test_what_adds_goes_together_and_what_changes_goes_alone() -> None:
    said = "No module named 'yaml'\nNo module named 'PIL'\nNo module named 'distutils'"
    assert [
        fix.argument for fix in find_fixes(read_remedies(), Evidence(collect=said), stack="python", tried=set())
    ] == ["older"]
    tried = {("runtime", "older")}
    found = [fix.argument for fix in find_fixes(read_remedies(), Evidence(collect=said), stack="python", tried=tried)]
    assert found == ["yaml", "PIL", "distutils"]
    assert not find_fixes(read_remedies(), Evidence(tests="2 failed, 3 passed"), stack="python", tried=set())


def fix(action: str, argument: str) -> Fix:
    return Fix(action=Action(action), argument=argument, symptom="", name="")


def test_each_action_changes_the_plan(kettle: Plan) -> None:
    def done(action: str, argument: str) -> Plan:
        changed = amend(kettle, fix(action, argument))
        assert changed is not None, (action, argument)
        assert amend(changed, fix(action, argument)) is None or action in ("later", "runtime"), (
            "a second time is nothing"
        )
        return changed

    for action, argument, requirement in [
        ("add_module", "yaml", "pyyaml"),
        ("add_module", "google.protobuf.message", "protobuf"),
        ("add_module", "some_thing.deep", "some_thing"),
        ("add_fixture", "mocker", "pytest-mock"),
        ("add_option", "--reruns", "pytest-rerunfailures"),
        ("add_requirement", "setuptools<81", "setuptools<81"),
    ]:
        changed = done(action, argument)
        assert all(requirement in items for items in (changed.full, changed.union, changed.solution_only))
        assert changed.recipe.requirements == changed.full
    for action, argument, package in [
        ("add_command", "less", "less"),
        ("add_header", "libxml/tree.h", "libxml2-dev"),
        ("add_library", "libGL.so.1", "libgl1"),
        ("add_module", "tkinter", "python3-tk"),
    ]:
        assert done(action, argument).recipe.system_packages == (package,)
    assert "pythonpath = tests/support" in done("add_module", "gauge").recipe.ini_lines, "the project's own module"
    assert not any("nope" in item.lower() for item in done("drop_requirement", "nope-local").full)
    assert 'attrs; python_version > "3"' in done("loosen_requirement", "attrs").full
    assert done("set_environment", "TERM=xterm").recipe.environment == (("TERM", "xterm"),)
    assert done("set_version", "1.0.0").recipe.project_version == "1.0.0"
    assert (done("later", "7").as_of - kettle.as_of).days == 7
    assert (kettle.recipe.runtime, done("runtime", "older").recipe.runtime) == ("3.11", "3.9")
    assert done("runtime", "newer").recipe.runtime == "3.13"


@pytest.mark.parametrize(
    ("action", "argument"),
    [
        ("add_module", "distutils.core"),
        ("add_module", "kettle.core") ,
        ("add_requirement", "kettle[fast]"),
        ("add_requirement", "evil @ https://example.com/evil.whl"),
        ("add_requirement", "not a requirement!"),
        ("add_system_package", "less; rm -rf /"),
        ("add_command", "a-command-nobody-knows"),
        ("add_header", "core.h"),
        ("drop_requirement", "not-there"),
    ],
)  # fmt: skip
def test_what_says_nothing_changes_nothing(kettle: Plan, action: str, argument: str) -> None:
    changed = amend(kettle, fix(action, argument))
    if argument == "kettle.core":
        assert changed is not None and changed.full == kettle.full, "on the import path, never from an index"
    else:
        assert changed is None


def test_the_names_are_well_formed() -> None:
    names = python_names()
    debian = [*names.commands.values(), *names.headers.values(), *names.libraries.values(), *names.standard.values()]
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name) for name in debian)
    assert all(names.imports.values()) and all(names.fixtures.values()) and all(names.options.values())
