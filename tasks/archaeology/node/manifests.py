"""package.json files of a tree, read as data."""

import json
import posixpath
from collections.abc import Mapping

from pydantic import Field

from blocks.records import Record
from blocks.trees import Tree

SECTIONS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_MOST = 3000
"""Manifests read of one tree; more are generated or hostile."""


class Manifest(Record):
    """One package.json. Fields of a wrong type count as absent."""

    folder: str
    """Relative to the tree, `.` for its root."""
    name: str | None = None
    version: str | None = None
    scripts: dict[str, str] = Field(default_factory=dict)
    sections: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Dependencies by section, each name with its range."""
    engines_node: str | None = None
    volta_node: str | None = None
    package_manager: str | None = None
    """The field `packageManager`, without its hash: `pnpm@9.0.0`."""
    entries: tuple[str, ...] = ()
    """Files that importers of the package get: main, module, types, exports; relative to the folder."""
    bins: tuple[str, ...] = ()
    has_workspaces: bool = False
    keys: tuple[str, ...] = ()
    """Every top-level key; tools keep their configuration there."""

    def needs(self, name: str) -> bool:
        """Whether any section names this package."""
        return any(name in section for section in self.sections.values())

    def path(self, relative: str) -> str:
        """A path of the folder as one of the tree."""
        return posixpath.normpath(posixpath.join(self.folder, relative))


def read_manifests(tree: Tree) -> dict[str, Manifest]:
    """By folder; those that are no JSON object are left out, and so is what lies below node_modules."""
    found: dict[str, Manifest] = {}
    for path in sorted(tree):
        folder, name = posixpath.split(path)
        if name == "package.json" and "node_modules" not in path.split("/") and len(found) < _MOST:
            document = read_json(tree, path)
            if document is not None:
                found[folder or "."] = _manifest(folder or ".", document)
    return found


def read_json(tree: Tree, path: str) -> dict[str, object] | None:
    """A JSON object of the tree; None where there is none."""
    file = tree.get(path)
    try:
        document = json.loads(file.content.decode("utf-8-sig", "replace")) if file else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def text_of(tree: Tree, path: str) -> str:
    """A text file of the tree; empty where there is none."""
    file = tree.get(path)
    return file.content.decode("utf-8-sig", "replace") if file else ""


def nearest(path: str, manifests: Mapping[str, Manifest]) -> str | None:
    """The folder of the manifest that a file belongs to."""
    folder = posixpath.dirname(path) or "."
    while folder not in manifests:
        if folder in (".", ""):
            return None
        folder = posixpath.dirname(folder) or "."
    return folder


def _manifest(folder: str, document: dict[str, object]) -> Manifest:
    manager = _text(document.get("packageManager"))
    return Manifest(
        folder=folder,
        name=_text(document.get("name")),
        version=_text(document.get("version")),
        scripts=_texts(document.get("scripts")),
        sections={section: _texts(document.get(section)) for section in SECTIONS if section in document},
        engines_node=_text(_table(document.get("engines")).get("node")),
        volta_node=_text(_table(document.get("volta")).get("node")),
        package_manager=manager.partition("+")[0] if manager else None,
        entries=tuple(dict.fromkeys(_entries(document))),
        bins=tuple(_bins(document.get("bin"))),
        has_workspaces="workspaces" in document,
        keys=tuple(document),
    )


def _entries(document: dict[str, object]) -> list[str]:
    found = [value for key in ("main", "module", "types") if isinstance(value := document.get(key), str)]
    waiting: list[object] = [document.get("exports")]
    while waiting and len(found) < 200:
        value = waiting.pop()
        if isinstance(value, str) and value.startswith("./") and "*" not in value:
            found.append(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def _bins(value: object) -> list[str]:
    values = value.values() if isinstance(value, dict) else [value]
    return [one for one in values if isinstance(one, str)]


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> dict[str, str]:
    return {key: one for key, one in _table(value).items() if isinstance(one, str)}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
