"""The project's own pytest configuration, read as data, and what of it a verifier keeps.

Options that change what is reported or run (coverage, parallel runs, selection, early exit, output) are dropped: the
runner adds its own. Everything else stays: a suite without its import mode or its markers is another suite.
"""

import configparser
import json
import re
import shlex
import tomllib

from blocks.records import Record
from blocks.trees import Tree

_DROPPED_ALONE = re.compile(
    r"^(-v+|-q+|-s|-x|-l|--verbose|--quiet|--exitfirst|--lf|--ff|--nf|--sw|--cov|--cov-(append|branch)|--no-cov|--showlocals"
    r"|--collect-only|--co|--full-trace|--disable-warnings|--benchmark-.*|--durations=?.*|--tb=.*|--color=.*|--capture=.*"
    r"|--cov(-[\w-]+)?=.*|--junit-?xml=.*|--html=.*|--self-contained-html|--maxfail=.*|--reruns=?.*|--dist=.*|--numprocesses=.*"
    r"|-n\d+|-nauto|--timeout=.*|--report-log=.*|--show-capture=.*|--random-order.*|--randomly-.*|-r[a-zA-Z]*)$"
)
_DROPPED_WITH_VALUE = frozenset(
    {"-n", "--numprocesses", "--dist", "--maxfail", "--tb", "--durations", "--junitxml", "--junit-xml", "--cov", "-k"}
    | {
        "--cov-report",
        "--cov-config",
        "--cov-fail-under",
        "--color",
        "--html",
        "-c",
        "--rootdir",
        "--deselect",
        "--reruns",
    }
)
_DROPPED_KEYS = frozenset({"addopts", "cache_dir", "junit_family", "junit_suite_name", "log_file", "required_plugins"})


class PytestConfig(Record):
    """`ini_lines` go below `[pytest]` in the runner's own file; `arguments` onto its command line."""

    ini_lines: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    found_in: str | None = None


def read_pytest_config(tree: Tree) -> PytestConfig:
    """The configuration pytest would choose at the root of the tree, by its own order of precedence."""
    for path, section in (
        ("pytest.ini", "pytest"),
        (".pytest.ini", "pytest"),
        ("pyproject.toml", ""),
        ("tox.ini", "pytest"),
        ("setup.cfg", "tool:pytest"),
    ):
        if path not in tree:
            continue
        text = tree[path].content.decode("utf-8", "replace")
        found = _from_toml(text) if path.endswith(".toml") else _from_ini(text, section)
        if found is not None:
            lines = tuple(f"{key} = {_ini_value(value)}" for key, value in found.items() if key not in _DROPPED_KEYS)
            return PytestConfig(ini_lines=lines, arguments=kept_arguments(found.get("addopts", "")), found_in=path)
        if path in ("pytest.ini", ".pytest.ini"):
            return PytestConfig(found_in=path)
    return PytestConfig()


def kept_arguments(addopts: str) -> tuple[str, ...]:
    """The options of `addopts` that a verifier keeps.

    A marker expression stays only where it takes tests away (`not slow`): one that asks for a marker would also take the
    grader's own sentinel tests away.
    """
    try:
        words = shlex.split(addopts)
    except ValueError:
        words = addopts.split()
    kept: list[str] = []
    skip = False
    for position, word in enumerate(words):
        if skip:
            skip = False
        elif word in _DROPPED_WITH_VALUE:
            following = words[position + 1] if position + 1 < len(words) else "-"
            skip = not following.startswith("-")
        elif word == "-m":
            expression = words[position + 1] if position + 1 < len(words) else ""
            kept += ["-m", expression] if expression.lstrip().startswith("not ") else []
            skip = True
        elif not _DROPPED_ALONE.match(word):
            kept.append(word)
    return tuple(kept)


def _from_ini(text: str, section: str) -> dict[str, str] | None:
    parser = configparser.RawConfigParser(strict=False, comment_prefixes=("#", ";"), inline_comment_prefixes=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return dict(parser.items(section)) if parser.has_section(section) else None


def _from_toml(text: str) -> dict[str, str] | None:
    try:
        pytest = tomllib.loads(text).get("tool", {}).get("pytest", {})
    except tomllib.TOMLDecodeError:
        return None
    options = pytest.get("ini_options") if isinstance(pytest, dict) and "ini_options" in pytest else pytest
    if not isinstance(options, dict) or not options:
        return None
    return {key: _toml_value(key, value) for key, value in options.items()}


def _toml_value(key: str, value: object) -> str:
    if isinstance(value, list):
        return shlex.join(map(str, value)) if key == "addopts" else "\n".join(map(str, value))
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _ini_value(value: str) -> str:
    return "\n    ".join(value.split("\n"))
