"""The command line of each JavaScript test tool, with our reporter and without what would change a verdict.

Tools are started by their own entry point from the package that is installed, never through a fetching launcher.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .account import GraderError

NODE = "/usr/local/bin/node"
TOOLS = ("jest", "vitest", "mocha", "ava", "node", "bun")
"""`node` is node's own test runner."""


@dataclass(frozen=True)
class NodeSuite:
    """One start of one tool."""

    tool: str
    folder: str = "."
    """Where it is started, relative to the workspace."""
    arguments: tuple[str, ...] = ()
    node_arguments: tuple[str, ...] = ()
    """Options of node itself."""
    environment: tuple[tuple[str, str], ...] = ()


def read_suite(value: object) -> NodeSuite:
    """One suite from JSON.

    Raises:
        GraderError: not a suite.
    """
    if not isinstance(value, Mapping) or value.get("tool") not in TOOLS:
        raise GraderError(f"a suite is none of {', '.join(TOOLS)}: {str(value)[:200]}")
    return NodeSuite(
        tool=str(value["tool"]),
        folder=str(value.get("folder", ".")),
        arguments=tuple(map(str, value.get("arguments", ()))),
        node_arguments=tuple(map(str, value.get("node_arguments", ()))),
        environment=tuple((str(name), str(content)) for name, content in value.get("environment", ())),
    )


def command(suite: NodeSuite, workspace: Path, reporters: Path) -> tuple[list[str], dict[str, str]]:
    """The argument list and further variables of a suite. `reporters` holds inside_node; `@channel` is the report's path.

    Raises:
        GraderError: the tool is not installed.
    """
    folder = workspace / suite.folder
    node = [NODE, *suite.node_arguments]
    if suite.tool == "bun":
        ours = [f"--preload={reporters / 'bun.cjs'}", "--reporter=junit", "--reporter-outfile=@channel"]
        return ["/usr/local/bin/bun", "test", *ours, *suite.arguments], {}
    if suite.tool == "node":
        where = [f"--test-reporter={reporters / 'node_test.cjs'}", "--test-reporter-destination=stdout"]
        return [*node, "--test", *where, *_expanded(suite.arguments, folder)], {}
    package, entry = _entry(suite.tool, folder, workspace)
    if suite.tool == "jest":
        ours = ["--ci", f"--reporters={reporters / 'jest.cjs'}", "--bail=0", "--coverage=false", "--watchAll=false"]
        return [*node, entry, *suite.arguments, *ours, "--passWithNoTests"], {}
    if suite.tool == "vitest":
        ours = [f"--reporter={reporters / 'vitest.cjs'}", "--no-coverage", "--watch=false", "--passWithNoTests"]
        ours += [] if _version(package).startswith("0.") else ["--bail=0"]
        return [*node, entry, "run", *suite.arguments, *ours], {}
    if suite.tool == "mocha":
        ours = ["--reporter", str(reporters / "mocha.cjs"), "--no-bail", "--no-color", "--no-parallel"]
        return [*node, entry, *suite.arguments, *ours], {}
    preload = ["--import", str(reporters / "ava.mjs")]
    return [*node, *preload, entry, "--tap", *suite.arguments], {"GRADER_AVA": str(package)}


def _entry(tool: str, folder: Path, workspace: Path) -> tuple[Path, str]:
    """The package's folder and the script its `bin` names, in the nearest node_modules up to the workspace."""
    places = [folder, *(parent for parent in folder.parents if workspace in (parent, *parent.parents))]
    for place in places:
        package = place / "node_modules" / tool
        try:
            manifest = json.loads((package / "package.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        bins = manifest.get("bin")
        script = bins if isinstance(bins, str) else bins.get(tool) if isinstance(bins, dict) else None
        if isinstance(script, str) and (package / script).is_file():
            return package, os.path.realpath(package / script)
    raise GraderError(f"the test tool {tool} is not among the dependencies of {folder}")


def _version(package: Path) -> str:
    return str(json.loads((package / "package.json").read_text(encoding="utf-8")).get("version", ""))


def _expanded(arguments: tuple[str, ...], folder: Path) -> list[str]:
    """Patterns become the files they match, because only newer releases of node expand them."""
    expanded: list[str] = []
    for argument in arguments:
        is_pattern = not argument.startswith("-") and any(sign in argument for sign in "*?{[")
        found = sorted({str(path) for one in _braces(argument) for path in _matches(folder, one)}) if is_pattern else []
        expanded += found or [argument]
    return expanded


def _matches(folder: Path, pattern: str) -> list[Path]:
    try:
        found = list(folder.glob(pattern[2:] if pattern.startswith("./") else pattern))
    except (ValueError, NotImplementedError):
        return []
    return [path for path in found if path.is_file() and "node_modules" not in path.relative_to(folder).parts]


def _braces(pattern: str) -> list[str]:
    start, end = pattern.find("{"), pattern.find("}")
    if not 0 <= start < end:
        return [pattern]
    return [
        one
        for choice in pattern[start + 1 : end].split(",")[:50]
        for one in _braces(pattern[:start] + choice + pattern[end + 1 :])
    ]
