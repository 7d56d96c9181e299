"""Which kind of file a path is: source, tests, documentation, configuration, generated; shared by several phases."""

import re
from collections.abc import Collection, Iterable
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
_DOC_SUFFIXES = frozenset({".md", ".rst", ".adoc"})
_DOC_NAMES = re.compile(
    r"^(readme|changes|changelog|history|news|authors|contributing|code_of_conduct|security|licen[sc]e|copying|notice)"
    r"([-_.][\w.-]+)?$"
)
_CODE_SUFFIX = re.compile(r"\.([cm]?[jt]sx?|pyi?|c|cc|cpp|cxx|h|hh|hpp|hxx|go|rs|java|rb|php|sh|json)$")
_CONFIG_NAMES = frozenset(
    {"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini", "noxfile.py", "manifest.in", "makefile"}
    | {"cmakelists.txt", "cmakepresets.json", "meson.build", "meson_options.txt", "meson.options", "configure.ac"}
    | {"configure.in", "makefile.am", "makefile.in", "gnumakefile"}
    | {"conanfile.txt", "conanfile.py", "vcpkg.json", "jenkinsfile", "procfile"}
    | {"package.json", "pnpm-workspace.yaml", "lerna.json", "turbo.json", "nx.json", "biome.json", "deno.json"}
)
_SCRIPT_CONFIG = re.compile(r"^(tsconfig[\w.-]*\.json|[\w.-]+\.config\.([cm]?[jt]s|json))$")
_LOCK_NAMES = frozenset({"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "bun.lockb"})
_CONFIG_FILE = re.compile(r"^((docker|container)file([-.].+)?|.+\.dockerfile|docker-compose[\w.-]*\.ya?ml)$")
_CONFIG_FOLDERS = frozenset(
    {".github", ".gitlab", ".circleci", ".devcontainer", ".husky", ".vscode", ".config", ".changeset"}
)
_CONFIG_SUFFIXES = frozenset({".toml", ".cfg", ".ini", ".yml", ".yaml", ".lock"})
_GENERATED = re.compile(
    r"(^|/)(vendor|third_party|node_modules|__generated__|__pycache__|[^/]+\.egg-info)/"
    r"|^(?!src/|lib/)(.*/)?(dist|build|_build)/"
    r"|\.min\.(js|css)$|\.(js|css)\.map$|_pb2(_grpc)?\.pyi?$|\.pb\.(go|cc|h)$|[-_.]generated\.\w+$|\.(lock|pyc)$"
)


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


def kind_of(path: str, submodules: Collection[str] = ()) -> PathKind:
    """The kind of one path, by its folders and name. A file of any type below a test folder is a test file.

    Args:
        path: relative, with `/`.
        submodules: folders that hold another repository's files. Those are not written here, so they are generated,
            whatever their names; below a test folder they are tests, as everything there.
    """
    for folder in submodules:
        if path.startswith(f"{folder}/"):
            inside_tests = {part.lower() for part in folder.split("/")} & _TEST_FOLDERS
            return PathKind.TEST if inside_tests else PathKind.GENERATED
    pure = PurePosixPath(path)
    folders = {part.lower() for part in pure.parts[:-1]}
    name = pure.name.lower()
    if folders & _TEST_FOLDERS or _TEST_FILE.match(pure.name) or _SCRIPT_SPECS.search(path):
        return PathKind.TEST
    if _GENERATED.search(path) or name in _LOCK_NAMES:
        return PathKind.GENERATED
    if _is_configuration(name, folders, depth=len(pure.parts)):
        return PathKind.CONFIGURATION
    return PathKind.DOCUMENTATION if _is_documentation(name, folders, len(pure.parts)) else PathKind.SOURCE


def split(paths: Iterable[str], submodules: Collection[str] = ()) -> Split:
    """Sort paths into their kinds."""
    kinds: dict[str, list[str]] = {kind.value: [] for kind in PathKind}
    for path in sorted(paths):
        kinds[kind_of(path, submodules).value].append(path)
    return Split(**{kind: tuple(found) for kind, found in kinds.items()})


def _is_configuration(name: str, folders: set[str], depth: int) -> bool:
    suffix = PurePosixPath(name).suffix
    if name in _CONFIG_NAMES or folders & _CONFIG_FOLDERS or _SCRIPT_CONFIG.match(name) or _CONFIG_FILE.match(name):
        return True
    if name.startswith(".") and (suffix in ("", ".yaml", ".yml") or "rc" in name.split(".")[1][-2:]):
        return True
    if name.startswith("requirements") or "requirements" in folders:
        return True
    return suffix in _CONFIG_SUFFIXES and depth == 1


def _is_documentation(name: str, folders: set[str], depth: int) -> bool:
    suffix = PurePosixPath(name).suffix
    if folders & _DOC_FOLDERS or suffix in _DOC_SUFFIXES:
        return True
    return bool(_DOC_NAMES.match(name) and not _CODE_SUFFIX.search(name)) or (suffix == ".txt" and depth == 1)
