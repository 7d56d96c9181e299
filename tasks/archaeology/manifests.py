"""What a Python project declares, read from its files as data: nothing of the project runs.

Sources: PEP 621 `[project]`, PEP 735 `[dependency-groups]`, `[tool.poetry]`, `[tool.pdm]`, `[tool.hatch.envs]`,
`[tool.uv]`, setup.cfg, literals in setup.py (by syntax tree), requirements files, tox.ini.
"""

import configparser
import posixpath
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from blocks.records import Record
from blocks.trees import Tree
from tasks.archaeology.poetry import poetry_python, poetry_requirements
from tasks.archaeology.setup_py import setup_literals

_TEST_GROUP = re.compile(r"^(tests?|testing|test[-_].*|.*[-_]tests?|pytest|unit|unittests?)$", re.I)
_DEV_GROUP = re.compile(r"^(dev|develop|development|dev[-_].*|all)$", re.I)
_TOOL_GROUP = re.compile(
    r"doc|lint|typ(e|ing)|mypy|bench|release|publish|format|style|pre-?commit|build|ci$|sphinx", re.I
)
_MOST_GROUPS = 100
"""Groups that one group may include; more is no project but an attempt to keep us busy."""
_TEST_FILES = re.compile(r"^(requirements/|requirements[-_./])?([\w-]*[-_.])?(tests?|testing)([-_.][\w-]+)?\.(txt|in)$")
_DEV_FILES = re.compile(r"^(requirements/|requirements[-_./])?([\w-]*[-_.])?(dev|develop|ci)([-_.][\w-]+)?\.(txt|in)$")


class Declared(Record):
    """What the project says of itself and needs. Requirements are strings as written, in the order found."""

    name: str | None = None
    requires_python: str | None = None
    runtime: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    """What its tests need beyond `runtime`, from the most telling place that names any."""
    features: tuple[str, ...] = ()
    """What its optional features need: the extras that are not for tests, development or documentation."""
    build: tuple[str, ...] = ()
    build_backend: str | None = None
    dynamic_version: bool = False
    pythons: tuple[str, ...] = ()
    """Minor versions of Python that its classifiers and tox name, e.g. `3.11`."""
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Every extra and group by name, for `own[extra]` in other places."""
    left_out: tuple[str, ...] = ()
    """What was declared and cannot be fetched from an index: local paths, addresses, what does not parse."""


def read_manifests(tree: Tree) -> Declared | None:
    """What the project at the root of the tree declares; None where there is no Python manifest."""
    project = _toml(tree, "pyproject.toml")
    setup_cfg, setup_py = _ini(tree, "setup.cfg"), setup_literals(_text(tree, "setup.py"))
    named_files = [path for path in tree if _TEST_FILES.match(path) or path in ("requirements.txt",)]
    if not project and not setup_cfg and "setup.py" not in tree and not named_files:
        return None
    table = _table(project, "project")
    runtime: list[str] = [
        *_strings(table.get("dependencies")),
        *poetry_requirements(_table(project, "tool", "poetry")),
        *_lines(setup_cfg.get("options", {}).get("install_requires", "")),
        *setup_py.get("install_requires", ()),
    ]
    if not runtime and "requirements.txt" in tree:
        runtime = list(requirement_lines(tree, "requirements.txt"))
    groups = _groups(project, setup_cfg, setup_py)
    test = _tests(groups, tree)
    hooks = _table(project, "tool", "hatch", "build", "hooks").values()
    build = (
        *(_strings(_table(project, "build-system").get("requires")) or ("setuptools", "wheel")),
        *(item for hook in hooks for item in _strings(_as_table(hook).get("dependencies"))),
    )
    name = _distribution_name(
        _first(
            table.get("name"),
            _table(project, "tool", "poetry").get("name"),
            setup_cfg.get("metadata", {}).get("name"),
            *setup_py.get("name", ()),
        )
    )
    requires_python = _first(
        table.get("requires-python"),
        poetry_python(_table(project, "tool", "poetry")),
        setup_cfg.get("options", {}).get("python_requires"),
        *setup_py.get("python_requires", ()),
    )
    features = [
        item
        for extra, items in _table(project, "project", "optional-dependencies").items()
        if not any(kind.search(extra) for kind in (_TEST_GROUP, _DEV_GROUP, _TOOL_GROUP))
        for item in _strings(items)
    ]
    kept_runtime, dropped = fetchable(runtime, own_name=name, groups=groups)
    kept_test, dropped_test = fetchable(test, own_name=name, groups=groups)
    kept_features, _ = fetchable(features, own_name=name, groups=groups)
    kept_build, dropped_build = fetchable(build, own_name=name, groups=groups)
    return Declared(
        name=name,
        requires_python=requires_python,
        runtime=kept_runtime,
        test=kept_test,
        features=kept_features,
        build=kept_build,
        build_backend=_string(_table(project, "build-system").get("build-backend")),
        dynamic_version="version" in _strings(table.get("dynamic")) or "setuptools_scm" in str(build),
        groups=tuple(groups.items()),
        pythons=_pythons(tree, table, project, setup_cfg, setup_py),
        left_out=(*dropped, *dropped_test, *dropped_build),
    )


def _pythons(
    tree: Tree,
    table: Mapping[str, object],
    project: Mapping[str, object],
    setup_cfg: Mapping[str, Mapping[str, str]],
    setup_py: Mapping[str, tuple[str, ...]],
) -> tuple[str, ...]:
    told = [
        *_strings(table.get("classifiers")),
        *_strings(_table(project, "tool", "poetry").get("classifiers")),
        *_lines(setup_cfg.get("metadata", {}).get("classifiers", "")),
        *setup_py.get("classifiers", ()),
    ]
    matches = (re.fullmatch(r"Programming Language :: Python :: (3\.\d{1,2})", item.strip()) for item in told)
    found = [match[1] for match in matches if match]
    environments = _ini(tree, "tox.ini").get("tox", {})
    text = environments.get("envlist", environments.get("env_list", ""))
    found += [f"3.{minor}" for minor in re.findall(r"(?<![\d.])3\.?(\d{1,2})(?!\d)", text)]
    return tuple(dict.fromkeys(found))


def requirement_lines(tree: Tree, path: str) -> Iterator[str]:
    """Requirement lines of a requirements file, following `-r`; a file that was read already is not read again.

    An editable install comes as its path (`.[test]`); other options, constraints and hashes are left out.
    """
    waiting, read = [path], {path}
    while waiting:
        current = waiting.pop(0)
        folder = posixpath.dirname(current)
        for raw in _text(tree, current).replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*$", "", raw).strip()
            option = re.match(r"^(?:(-r|--requirement)|-e|--editable)[ =]?(\S.*)$", line)
            if option and option[1]:
                target = posixpath.normpath(posixpath.join(folder, option[2]))
                if target in tree and target not in read:
                    read.add(target)
                    waiting.append(target)
            elif option:
                yield option[2]
            elif line and not line.startswith("-"):
                yield re.sub(r"\s--hash=\S+", "", line).strip()


def _groups(
    project: Mapping[str, object], setup_cfg: Mapping[str, Mapping[str, str]], setup_py: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    poetry = _table(project, "tool", "poetry")
    sources: list[Mapping[str, object]] = [
        _table(project, "project", "optional-dependencies"),
        _expand_groups(_table(project, "dependency-groups")),
        _table(project, "tool", "pdm", "dev-dependencies"),
        {key: _lines(value) for key, value in setup_cfg.get("options.extras_require", {}).items()},
        {"test": _lines(setup_cfg.get("options", {}).get("tests_require", ""))},
        {"test": setup_py.get("tests_require", ())},
        {key.removeprefix("extras_require:"): value for key, value in setup_py.items() if ":" in key},
        {"dev": poetry_requirements({"dependencies": poetry.get("dev-dependencies", {})})},
        {key: poetry_requirements(_as_table(value)) for key, value in _table(poetry, "group").items()},
        {
            key: _as_table(value).get("dependencies", ())
            for key, value in _table(project, "tool", "hatch", "envs").items()
        },
        {
            key: _as_table(value).get("extra-dependencies", ())
            for key, value in _table(project, "tool", "hatch", "envs").items()
        },
        {"dev": _table(project, "tool", "uv").get("dev-dependencies", ())},
    ]
    for source in sources:
        for key, value in source.items():
            found[key] = tuple(dict.fromkeys((*found.get(key, ()), *_strings(value))))
    return found


def _tests(groups: Mapping[str, tuple[str, ...]], tree: Tree) -> tuple[str, ...]:
    """The most telling place first: a group named for tests, a file named for tests, tox, then what developers use."""
    by_group = [item for name, items in groups.items() if _TEST_GROUP.match(name) for item in items]
    by_file = [line for path in sorted(tree) if _TEST_FILES.match(path) for line in requirement_lines(tree, path)]
    if by_group or by_file:
        return tuple(dict.fromkeys((*by_group, *by_file)))
    tox = tuple(_tox_deps(tree))
    if tox:
        return tox
    by_dev = [item for name, items in groups.items() if _DEV_GROUP.match(name) for item in items]
    dev_file = [line for path in sorted(tree) if _DEV_FILES.match(path) for line in requirement_lines(tree, path)]
    return tuple(dict.fromkeys((*by_dev, *dev_file)))


def _tox_deps(tree: Tree) -> Iterator[str]:
    for line in _lines(_ini(tree, "tox.ini").get("testenv", {}).get("deps", "")):
        plain = re.sub(r"^[\w{},.!-]+:\s+", "", line)
        include = re.match(r"^-r\s*(?:\{toxinidir\}/)?(\S+)$", plain)
        if include and include[1] in tree:
            yield from requirement_lines(tree, include[1])
        elif "{" not in plain and not plain.startswith("-"):
            yield plain


def fetchable(
    items: Iterable[str], *, own_name: str | None, groups: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Requirements an index can serve, and those it cannot. `own[extra]` and `.[extra]` are replaced by that extra's."""
    kept: dict[str, None] = {}
    dropped: dict[str, None] = {}
    waiting, opened = list(items), set[str]()
    while waiting:
        item = waiting.pop(0)
        here = re.match(r"^(?:file:)?\./?(?:\[([\w\s,.-]+)\])?$", item)
        try:
            requirement = None if here else Requirement(item)
        except InvalidRequirement:
            dropped[item] = None
            continue
        if here:
            extras = {extra.strip() for extra in (here[1] or "").split(",")}
        elif requirement and own_name and canonicalize_name(requirement.name) == canonicalize_name(own_name):
            extras = requirement.extras
        elif requirement and requirement.url:
            dropped[item] = None
            continue
        else:
            kept[str(requirement)] = None
            continue
        for extra in sorted(extras - opened):
            opened.add(extra)
            waiting[:0] = groups.get(extra, ())
    return tuple(kept), tuple(dropped)


def _expand_groups(groups: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """PEP 735 groups with their includes resolved, each once; names are compared normalised."""
    by_name = {canonicalize_name(name): value for name, value in groups.items() if isinstance(value, list)}

    def items(name: str) -> Iterator[str]:
        opened = {canonicalize_name(name)}
        waiting: list[object] = list(by_name.get(canonicalize_name(name), ()))
        while waiting:
            item = waiting.pop(0)
            inner = item.get("include-group") if isinstance(item, dict) else None
            if isinstance(item, str):
                yield item
            elif isinstance(inner, str) and canonicalize_name(inner) not in opened and len(opened) < _MOST_GROUPS:
                opened.add(canonicalize_name(inner))
                waiting[:0] = by_name.get(canonicalize_name(inner), ())

    return {name: tuple(items(name)) for name in groups}


def _toml(tree: Tree, path: str) -> dict[str, object]:
    try:
        return tomllib.loads(_text(tree, path))
    except (ValueError, RecursionError):
        return {}


def _ini(tree: Tree, path: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(_text(tree, path))
    except configparser.Error:
        return {}
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _text(tree: Tree, path: str) -> str:
    file = tree.get(path)
    return file.content.decode("utf-8", "replace") if file else ""


def _table(value: Mapping[str, object], *names: str) -> Mapping[str, object]:
    current: Mapping[str, object] = value
    for name in names:
        current = _as_table(current.get(name))
    return current


def _as_table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _distribution_name(name: str | None) -> str | None:
    """The name, where it is one: it becomes an argument and a file name later."""
    return name if name and re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", name) else None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _first(*values: object) -> str | None:
    return next((value for value in values if isinstance(value, str) and value), None)


def _strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for raw in text.splitlines() if (line := raw.split(" #")[0].strip()) and not line.startswith("#"))
