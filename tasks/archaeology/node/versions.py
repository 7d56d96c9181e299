"""Which Node.js a tree is built with: what it names itself, else the newest long-term release of the outcome's time."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from blocks.engine.node_runtime import NODE_VERSIONS
from blocks.trees import Tree
from tasks.archaeology.devcontainer import read_devcontainers
from tasks.archaeology.node.manifests import Manifest, text_of
from tasks.archaeology.node.ranges import parse_version, satisfies

LONG_TERM = {
    "14": datetime(2020, 10, 27, tzinfo=UTC),
    "16": datetime(2021, 10, 26, tzinfo=UTC),
    "18": datetime(2022, 10, 25, tzinfo=UTC),
    "20": datetime(2023, 10, 24, tzinfo=UTC),
    "22": datetime(2024, 10, 29, tzinfo=UTC),
    "24": datetime(2025, 10, 28, tzinfo=UTC),
}
"""When each release became long-term; source: the release schedule of the Node.js project."""

_MATRIX = re.compile(r"""^\s*-?\s*["']?(?:node|node-version|node_version|nodejs|NODE_VERSION)["']?\s*:\s*(.*)$""", re.I)
_NUMBERS = re.compile(r"(?<![\w.])v?(\d{1,2})(?:\.(?:x|\d+))?(?:\.(?:x|\d+))?(?![\w.])")


def choose_node(tree: Tree, manifests: Iterable[Manifest], as_of: datetime, *, floor: int = 0) -> str | None:
    """A major version there is an image for; None where every one is excluded by what the tree says.

    In order: .nvmrc, .node-version, .tool-versions, volta; then the newest long-term release of the outcome's time that
    `engines` allows and the workflows test (where they name none, that of the development container); then one that
    `engines` allows alone. `floor` is the least that the package manager runs on. Where nothing is left for the sake of a
    wish that cannot be met (an odd release), the nearest newer.
    """
    asked = [manifest.engines_node for manifest in manifests if manifest.engines_node]
    allowed = [major for major in _by_preference(as_of) if int(major) >= floor and _allows(asked, major)]
    if not allowed:
        return None
    named = next(_named(tree, manifests), None)
    if named is not None:
        if str(named) in allowed:
            return str(named)
        newer = sorted((major for major in allowed if int(major) > named), key=int)
        if newer:
            return newer[0]
    tested = set(_tested(tree)) or {
        int(told.partition(".")[0]) for told in read_devcontainers(tree).versions_of("node")
    }
    both = [major for major in allowed if int(major) in tested and datetime_of(major) <= as_of]
    return both[0] if both else allowed[0]


def datetime_of(major: str) -> datetime:
    """When a major version became long-term."""
    return LONG_TERM[major]


def _by_preference(as_of: datetime) -> list[str]:
    """The newest of the outcome's time first, down to the oldest; then what came later, oldest first."""
    known = sorted(NODE_VERSIONS, key=int)
    there = [major for major in known if LONG_TERM[major] <= as_of]
    return [*reversed(there), *(major for major in known if major not in there)]


def _allows(asked: list[str], major: str) -> bool:
    return all(satisfies(one, NODE_VERSIONS[major]) is not False for one in asked)


def _named(tree: Tree, manifests: Iterable[Manifest]) -> Iterator[int]:
    for path in (".nvmrc", ".node-version"):
        yield from _major(text_of(tree, path))
    for line in text_of(tree, ".tool-versions").splitlines():
        if re.match(r"^node(js)?\s", line):
            yield from _major(line.split()[1])
    for manifest in manifests:
        if manifest.folder == "." and manifest.volta_node:
            yield from _major(manifest.volta_node)


def _major(text: str) -> Iterator[int]:
    version = parse_version(text.strip())
    if version:
        yield version[0]


def _tested(tree: Tree) -> Iterator[int]:
    """Major versions in the workflows' matrices: as lines, because only numbers behind one key are asked for."""
    for path in tree:
        if re.match(r"^\.github/workflows/[^/]+\.ya?ml$", path):
            lines = text_of(tree, path).splitlines()
            for number, line in enumerate(lines):
                found = _MATRIX.match(line)
                if found:
                    inline = found[1].split("#")[0]
                    listed = [] if inline.strip() else _items(lines[number + 1 :])
                    for text in (inline, *listed):
                        yield from (int(one) for one in _NUMBERS.findall(text))


def _items(lines: list[str]) -> Iterator[str]:
    for line in lines[:40]:
        item = re.match(r"^\s*-\s*(.*)$", line)
        if not item and line.strip() not in ("[", "]") and not re.match(r"""^\s*["'\d]""", line):
            return
        yield line.split("#")[0]
