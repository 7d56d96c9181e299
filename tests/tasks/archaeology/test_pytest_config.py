"""Which configuration counts (docs.pytest.org, "Configuration file formats"), and what of it a verifier keeps."""

import configparser

import pytest

from tasks.archaeology.pytest_config import kept_arguments, read_pytest_config
from tests.trees import tree

TOML = "[tool.pytest.ini_options]\nmarkers = ['a: one', 'b']\naddopts = ['-ra', '-p', 'no:x y']\nxfail_strict = true"
EVERYWHERE = {
    "pytest.toml": "[pytest]\nminversion = '9.0'",
    ".pytest.toml": "[pytest]\nminversion = '9.1'",
    "pytest.ini": "",
    ".pytest.ini": "[pytest]\nminversion = 6.1",
    "pyproject.toml": TOML,
    "tox.ini": "[pytest]\nminversion = 6.3",
    "setup.cfg": "[tool:pytest]\nminversion = 6.4",
}


def test_precedence() -> None:
    """Taking away the one that wins, the next one in pytest's order does; an empty pytest.ini still counts."""
    left, order = dict(EVERYWHERE), []
    while (found := read_pytest_config(tree(left)).found_in) is not None:
        order.append(found)
        del left[found]
    assert order == list(EVERYWHERE)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", "[project]\nname = 'x'"),
        ("pyproject.toml", "[tool.pytest"),
        ("pyproject.toml", "tool = 1"),
        ("tox.ini", "[testenv]\n"),
        ("setup.cfg", "[pytest]\nminversion = 1"),
        ("setup.cfg", "rubbish"),
    ],
)
def test_files_that_do_not_speak_of_pytest_are_passed_over(path: str, text: str) -> None:
    assert read_pytest_config(tree({path: text})).found_in is None


def test_an_empty_ini_options_table_counts() -> None:
    files = {"pyproject.toml": "[tool.pytest.ini_options]", "tox.ini": "[pytest]\nminversion = 6"}
    assert read_pytest_config(tree(files)).found_in == "pyproject.toml"


def test_values_keep_their_meaning() -> None:
    found = read_pytest_config(tree({"pyproject.toml": TOML}))
    parser = configparser.RawConfigParser()
    parser.read_string("\n".join(["[pytest]", *found.ini_lines]))
    assert dict(parser["pytest"]) == {"markers": "a: one\nb", "xfail_strict": "true"}
    assert found.arguments == ("-p", "no:x y")
    ini = "[pytest]\nfilterwarnings =\n    error\n    # no\n    ignore:x;y\ncache_dir = /tmp/x\nrequired_plugins = pytest-cov"
    assert read_pytest_config(tree({"tox.ini": ini})).ini_lines == ("filterwarnings = \n    error\n    ignore:x;y",)


def test_no_value_or_name_opens_a_section_of_its_own() -> None:
    text = '[tool.pytest.ini_options]\na = "x\\n[pytest]\\r[other]\\u2028[third]"\n"b\\n[c]" = 1'
    found = read_pytest_config(tree({"pyproject.toml": text}))
    lines = [line for item in found.ini_lines for line in item.splitlines()]
    assert lines[0] == "a = x"
    assert lines[1:] and all(line.startswith(" ") for line in lines[1:])


@pytest.mark.parametrize(
    ("addopts", "kept"),
    [
        ("-r a --strict-markers", ["--strict-markers"]),
        ("--import-mode=importlib --strict-markers -W error -p no:randomly --doctest-modules", None),
        ("-o console_output_style=classic --ignore=docs --asyncio-mode=auto tests", None),
        ("-m 'not slow'", ["-m", "not slow"]),
        ("-m slow -mslow -m 'slow or fast'", []),
        ("-m'not slow'", ["-m", "not slow"]),
        ("-v -vv -q -sv -x -l -ra -rxXs --tb=short --tb short --color yes --durations=10 --durations 5", []),
        ("-n auto -nauto -n4 -n=4 --dist loadfile --numprocesses=2 --maxfail=1 --maxfail 2 --reruns 3", []),
        ("--cov --cov=pkg --cov pkg --cov-report=xml --cov-report term --cov-fail-under=90 --no-cov --cov-branch", []),
        ("-k fast -kfast --deselect=a::b --deselect a::b --lf --last-failed --ff --stepwise --collect-only", []),
        ("-c other.ini --rootdir=/ --rootdir . --basetemp=x --timeout=60 --timeout 60 --junitxml=a.xml --html=b", []),
        ("--benchmark-skip --randomly-seed=1 --random-order --disable-warnings --exitfirst", []),
        ("'unclosed --strict-config", ["'unclosed", "--strict-config"]),
        ("", []),
    ],
)
def test_options(addopts: str, kept: list[str] | None) -> None:
    assert list(kept_arguments(addopts)) == (addopts.split() if kept is None else kept)
