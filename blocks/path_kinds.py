"""Which kind of file a path is: source, tests, documentation, configuration, generated; shared by several phases."""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePosixPath

from blocks.records import Record

_TEST_FOLDERS = frozenset(
    {"test", "tests", "testing", "unit_tests", "unittests", "testsuite"}
    | {"__tests__", "__mocks__", "__snapshots__", "__fixtures__", "test-d"}
)
_TEST_FILE = re.compile(
    r"^(test_.*|.*_test|tests|conftest)\.py$"
    r"|^(tests?|(unit_?)?tests?[-_.].*|.*[-_.](unit_?)?tests?|.*[a-z0-9](Unit)?Tests?)\.(c|cc|cpp|cxx|h|hh|hpp|hxx)$"
    r"|^(tests?|(.*[-_.])?(test|spec)(-d)?)\.[cm]?[jt]sx?$|.*\.snap$"
)
_SCRIPT_SPECS = re.compile(r"(^|/)specs?/(.*/)?[^/]+\.[cm]?[jt]sx?$")
_DOC_FOLDERS = frozenset({"doc", "docs", "documentation", "examples", "example"})
_DOC_SUFFIXES = frozenset({".md", ".rst", ".txt", ".adoc"})
_DOC_NAMES = re.compile(r"^(readme|changes|changelog|history|news|authors|contributing|license|licence|copying)", re.I)
_CONFIG_NAMES = frozenset(
    {"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini", "noxfile.py", "manifest.in", "makefile"}
    | {"cmakelists.txt", "cmakepresets.json", "meson.build", "meson_options.txt", "meson.options", "configure.ac"}
    | {"configure.in", "makefile.am", "makefile.in", "gnumakefile"}
    | {"package.json", "pnpm-workspace.yaml", "lerna.json", "turbo.json", "nx.json", "biome.json", "deno.json"}
)
_SCRIPT_CONFIG = re.compile(r"^(tsconfig[\w.-]*\.json|[\w.-]+\.config\.([cm]?[jt]s|json))$")
_LOCK_NAMES = frozenset({"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "bun.lockb"})
_CONFIG_SUFFIXES = frozenset({".toml", ".cfg", ".ini", ".yml", ".yaml", ".lock"})
_GENERATED = re.compile(r"(^|/)(dist|build|_build|vendor|third_party|node_modules)/|\.min\.(js|css)$|_pb2\.py$|\.lock$")


class PathKind(StrEnum):
    """What a path is to a verifier."""

    SOURCE = "source"
    TEST = "test"
    DOCUMENTATION = "documentation"
    CONFIGURATION = "configuration"
    GENERATED = "generated"


class Split(Record):
    """Changed paths by kind, each sorted."""

    source: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    documentation: tuple[str, ...] = ()
    configuration: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()


def kind_of(path: str) -> PathKind:
    """The kind of one path, by its folders and name. A file of any type below a test folder is a test file."""
    pure = PurePosixPath(path)
    folders = {part.lower() for part in pure.parts[:-1]}
    name = pure.name.lower()
    if folders & _TEST_FOLDERS or _TEST_FILE.match(pure.name) or _SCRIPT_SPECS.search(path):
        return PathKind.TEST
    if _GENERATED.search(path) or name in _LOCK_NAMES:
        return PathKind.GENERATED
    if name in _CONFIG_NAMES or path.startswith(".github/") or (name.startswith(".") and pure.suffix in ("", ".yaml")):
        return PathKind.CONFIGURATION
    if _SCRIPT_CONFIG.match(name):
        return PathKind.CONFIGURATION
    if name.startswith("requirements") or folders & {"requirements"}:
        return PathKind.CONFIGURATION
    if folders & _DOC_FOLDERS or _DOC_NAMES.match(name) or pure.suffix.lower() in _DOC_SUFFIXES:
        return PathKind.DOCUMENTATION
    if pure.suffix.lower() in _CONFIG_SUFFIXES and len(pure.parts) == 1:
        return PathKind.CONFIGURATION
    return PathKind.SOURCE


def split(paths: Iterable[str]) -> Split:
    """Sort paths into their kinds."""
    kinds: dict[str, list[str]] = {kind.value: [] for kind in PathKind}
    for path in sorted(paths):
        kinds[kind_of(path).value].append(path)
    return Split(**{kind: tuple(found) for kind, found in kinds.items()})
