"""Which test tools are started, where, and what is built before: from scripts, configuration files and dependencies."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from blocks.recipe import NodeCommand, NodeSuite
from blocks.trees import Tree
from tasks.archaeology.node.manifests import Manifest, nearest, text_of
from tasks.archaeology.node.scripts import Reading, read_script

_TOOLS = ("vitest", "jest", "ava", "mocha")
_SCRIPTS = (
    "test",
    "test:unit",
    "unit",
    "test:run",
    "test:ci",
    "test-ci",
    "tests",
    "test:node",
    "test:all",
    "jest",
    "vitest",
)
_IMPORT = re.compile(
    r"""(?:from\s*|import\s*\(?\s*|require(?:\.resolve)?\(\s*|mock\(\s*)["'](\.{1,2}(?:/[^"'\n]*)?)["']"""
)
_ENDINGS = (
    "",
    ".js",
    ".ts",
    ".tsx",
    ".jsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".cts",
    ".json",
    ".node",
    ".d.ts",
    ".vue",
    ".svelte",
)
_INDEX = tuple(f"/index{ending}" for ending in _ENDINGS[1:])
_SOURCE_OF = {".js": (".ts", ".tsx", ".jsx"), ".mjs": (".mts",), ".cjs": (".cts",), ".jsx": (".tsx",)}


@dataclass(frozen=True)
class Testing:
    """What is run. Empty suites: nothing was recognised."""

    suites: tuple[NodeSuite, ...]
    commands: tuple[NodeCommand, ...]


def plan_testing(tree: Tree, manifests: Mapping[str, Manifest], hidden: Sequence[str], manager: str) -> Testing:
    """At the root where its test script starts tools itself; else in each package that holds a hidden test.

    Args:
        tree: the solution.
        manifests: its manifests by folder.
        hidden: the outcome's test files.
        manager: name of the package manager.
    """
    homes = list(dict.fromkeys(home for path in hidden if (home := nearest(path, manifests)) is not None))
    root = _reading(manifests["."]) if "." in manifests else Reading()
    folders = {".": root} if root.started else {home: _reading(manifests[home]) for home in homes}
    suites: list[NodeSuite] = []
    commands: list[NodeCommand] = []
    for folder, reading in folders.items():
        started = _suites(folder, reading) or list(_guessed(tree, manifests, folder, hidden, manager))
        suites += started
        commands += [_script(folder, name) for name in reading.builds] if started else []
    packages = [*_needed_packages(tree, manifests, homes)]
    before = [_script(folder, "build") for folder in packages]
    done = {(command.folder, command.argv[-1]) for command in (*before, *commands)}
    for home in homes:
        wants = (home, "build") not in done and "build" in manifests[home].scripts
        if wants and imports_what_is_not_there(tree, [path for path in hidden if nearest(path, manifests) == home]):
            commands.append(_script(home, "build"))
    return Testing(tuple(dict.fromkeys(suites)), tuple(dict.fromkeys((*before, *commands))))


def imports_what_is_not_there(tree: Tree, tests: Sequence[str]) -> bool:
    """Whether a test imports a relative path that no file of the tree stands behind: it is made by a build."""
    folders = {posixpath.dirname(path) for path in tree}
    for path in tests:
        for target in _IMPORT.findall(text_of(tree, path)):
            where = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("?")[0]))
            if where.startswith("..") or _is_there(tree, where):
                continue
            if where in ("", ".") or where in folders:
                continue
            return True
    return False


def _is_there(tree: Tree, where: str) -> bool:
    stem, ending = posixpath.splitext(where)
    typed = [stem + other for other in _SOURCE_OF.get(ending, ())]
    return any(where + one in tree for one in (*_ENDINGS, *_INDEX)) or any(one in tree for one in typed)


def _reading(manifest: Manifest) -> Reading:
    """The first of the usual scripts that starts a tool."""
    readings = [read_script(manifest.scripts, name) for name in _SCRIPTS if name in manifest.scripts]
    started = [reading for reading in readings if reading.started]
    return started[0] if started else next((one for one in readings if one.goes_into_packages), Reading())


def _suites(folder: str, reading: Reading) -> list[NodeSuite]:
    return [
        NodeSuite(
            tool=one.tool,
            folder=folder,
            arguments=one.arguments,
            node_arguments=one.node_arguments,
            environment=one.environment,
        )
        for one in reading.started
    ]


def _guessed(
    tree: Tree, manifests: Mapping[str, Manifest], folder: str, hidden: Sequence[str], manager: str
) -> Iterator[NodeSuite]:
    """By configuration files, then dependencies, then what the tests import."""
    manifest = manifests[folder]
    above = [manifest, *([manifests["."]] if "." in manifests else [])]
    for tool in _TOOLS:
        configured = re.compile(rf"^(\.{tool}rc(\..*)?|{tool}\.config\.[\w.]+)$")
        files = {posixpath.basename(path) for path in tree if (posixpath.dirname(path) or ".") == folder}
        if any(configured.match(name) for name in files) or tool in manifest.keys:
            yield NodeSuite(tool=tool, folder=folder)
            return
    for tool in _TOOLS:
        if any(one.needs(tool) for one in above):
            yield NodeSuite(tool=tool, folder=folder)
            return
    texts = [text_of(tree, path) for path in hidden if nearest(path, manifests) == folder]
    if manager == "bun" and (any("bun:test" in text for text in texts) or "test" not in manifest.scripts):
        yield NodeSuite(tool="bun", folder=folder)
    elif any(re.search(r"""["']node:test["']""", text) for text in texts):
        yield NodeSuite(tool="node", folder=folder)


def _needed_packages(tree: Tree, manifests: Mapping[str, Manifest], homes: Sequence[str]) -> list[str]:
    """Workspace packages that the homes need and whose entries a build makes; what others need comes first."""
    by_name = {one.name: folder for folder, one in manifests.items() if one.name and folder != "."}
    order: list[str] = []

    def visit(folder: str, path: frozenset[str]) -> None:
        manifest = manifests[folder]
        for section in manifest.sections.values():
            for name in section:
                needed = by_name.get(name)
                if needed and needed not in path and needed not in order:
                    visit(needed, path | {needed})
        if folder not in order:
            order.append(folder)

    for home in homes:
        visit(home, frozenset({home}))
    return [folder for folder in order if folder not in homes and _is_unbuilt(tree, manifests[folder])]


def _is_unbuilt(tree: Tree, manifest: Manifest) -> bool:
    entries = [manifest.path(entry) for entry in manifest.entries]
    return "build" in manifest.scripts and bool(entries) and not any(_is_there(tree, entry) for entry in entries)


def _script(folder: str, name: str) -> NodeCommand:
    return NodeCommand(argv=("npm", "run", name), folder=folder)
