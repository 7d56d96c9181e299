"""The project's own pytest configuration, read as data, and what of it a verifier keeps.

Options that change what is reported or run (coverage, parallel runs, selection, early exit, output) are dropped: the
runner adds its own. Everything else stays: a suite without its import mode or its markers is another suite.
"""

import configparser
import json
import posixpath
import re
import shlex
import tomllib

from blocks.records import Record
from blocks.trees import Tree

_DROPPED_ALONE = re.compile(
    r"^(-[vqsxl]+|--verbose|--quiet|--exitfirst|--lf|--last-failed|--ff|--failed-first|--nf|--new-first|--sw"
    r"|--stepwise|--sw-skip|--stepwise-skip|--cov|--cov-(append|branch)|--no-cov|--showlocals|--collect-only|--co"
    r"|--full-trace|--disable-warnings|--benchmark-.*|--self-contained-html|--random-order.*|--randomly-.*|-r[a-zA-Z]*"
    r"|-n(\d+|auto|logical)|-k.+|-c.+)$"
)
_WITH_VALUE = frozenset(
    {
        "-n",
        "-r",
        "--numprocesses",
        "--dist",
        "--maxfail",
        "--tb",
        "--durations",
        "--durations-min",
        "--junitxml",
        "--junit-xml",
    }
    | {"--junit-prefix", "--html", "--cov", "--cov-report", "--cov-config", "--cov-fail-under", "--cov-context", "-k"}
    | {"-c", "--config-file", "--rootdir", "--confcutdir", "--basetemp", "--deselect", "--reruns", "--reruns-delay"}
    | {"--timeout", "--color", "--code-highlight", "--capture", "--show-capture", "--report-log", "--log-file"}
)
"""Dropped with the word that follows, or with what follows `=`."""
_KEY = re.compile(r"\w[\w.-]*")
_DROPPED_KEYS = frozenset({"addopts", "cache_dir", "junit_family", "junit_suite_name", "log_file", "required_plugins"})


class PytestConfig(Record):
    """`ini_lines` go below `[pytest]` in the runner's own file; `arguments` onto its command line."""

    ini_lines: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    found_in: str | None = None


def read_pytest_config(tree: Tree, folder: str = ".") -> PytestConfig:
    """The configuration pytest would choose in this folder of the tree, by its own order of precedence: the folder's
    own, else that of the nearest folder above, its import paths turned into the folder's.

    Source: docs.pytest.org/en/stable/reference/customize.html. A pytest.toml or pytest.ini wins also where it is empty.
    """
    found = _config_at(tree, folder)
    where = folder
    while found.found_in is None and where != ".":
        where = posixpath.dirname(where) or "."
        found = _config_at(tree, where)
    if where == folder or found.found_in is None:
        return found
    up = posixpath.relpath(where, folder)
    lines = (_moved(line, up) for line in found.ini_lines if not line.startswith("testpaths"))
    return found.model_copy(update={"ini_lines": tuple(lines)})


def _moved(line: str, up: str) -> str:
    key, _, value = line.partition("=")
    if key.strip() not in ("pythonpath", "python_paths"):
        return line
    return f"{key.strip()} = " + " ".join(posixpath.normpath(posixpath.join(up, path)) for path in value.split())


def _config_at(tree: Tree, folder: str) -> PytestConfig:
    for path, section in (
        ("pytest.toml", "pytest"),
        (".pytest.toml", "pytest"),
        ("pytest.ini", "pytest"),
        (".pytest.ini", "pytest"),
        ("pyproject.toml", "tool.pytest"),
        ("tox.ini", "pytest"),
        ("setup.cfg", "tool:pytest"),
    ):
        place = posixpath.normpath(posixpath.join(folder, path))
        if place not in tree:
            continue
        text = tree[place].content.decode("utf-8", "replace")
        found = _from_toml(text, section) if path.endswith(".toml") else _from_ini(text, section)
        if found is not None:
            kept = {key: value for key, value in found.items() if _KEY.fullmatch(key) and key not in _DROPPED_KEYS}
            lines = tuple(f"{key} = {_ini_value(value)}" for key, value in kept.items())
            return PytestConfig(ini_lines=lines, arguments=kept_arguments(found.get("addopts", "")), found_in=place)
        if path.lstrip(".") in ("pytest.toml", "pytest.ini"):
            return PytestConfig(found_in=place)
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
        elif word in _WITH_VALUE:
            following = words[position + 1] if position + 1 < len(words) else "-"
            skip = not following.startswith("-")
        elif word == "-m" or re.match(r"^-m.", word):
            expression = word[2:].removeprefix("=") or "".join(words[position + 1 : position + 2])
            kept += ["-m", expression] if expression.lstrip().startswith("not ") else []
            skip = word == "-m"
        elif word.partition("=")[0] not in _WITH_VALUE and not _DROPPED_ALONE.match(word):
            kept.append(word)
    return tuple(kept)


def _from_ini(text: str, section: str) -> dict[str, str] | None:
    parser = configparser.RawConfigParser(strict=False, comment_prefixes=("#", ";"), inline_comment_prefixes=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return dict(parser.items(section)) if parser.has_section(section) else None


def _from_toml(text: str, section: str) -> dict[str, str] | None:
    """Of pyproject.toml `[tool.pytest.ini_options]`, else pytest 9's own `[tool.pytest]`; of pytest.toml `[pytest]`."""
    try:
        table: object = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    for name in section.split("."):
        table = table.get(name) if isinstance(table, dict) else None
    options = table.get("ini_options", table) if isinstance(table, dict) else None
    if not isinstance(options, dict) or (options is table and not options):
        return None
    return {key: _toml_value(key, value) for key, value in options.items()}


def _toml_value(key: str, value: object) -> str:
    if isinstance(value, list):
        return shlex.join(map(str, value)) if key == "addopts" else "\n".join(map(str, value))
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _ini_value(value: str) -> str:
    return "\n    ".join(value.splitlines())
