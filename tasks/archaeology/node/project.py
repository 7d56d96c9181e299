"""Which folder is the JavaScript project that a test belongs to: where its dependencies are installed from."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from blocks.trees import Tree
from tasks.archaeology.folders import above, placed, relative, text_at
from tasks.archaeology.node.managers import LOCKS
from tasks.archaeology.node.manifests import Manifest, read_json

_TOOLS = ("vitest", "jest", "ava", "mocha")
_MOST_ANY = 2
"""Times `**` may stand in a pattern; more is hostile."""


def node_home(path: str, tree: Tree, manifests: Mapping[str, Manifest]) -> str | None:
    """The folder whose install a test runs on: None where no package.json lies above it.

    The nearest with a lock of its own or with workspaces, unless it is itself a package of a workspace above; without
    any, the nearest that has a test tool, else the topmost.
    """
    folders = [folder for folder in above(path) if folder in manifests]
    for position, folder in enumerate(folders):
        if _is_installed(tree, manifests[folder]):
            outer = [one for one in folders[position + 1 :] if folder in workspaces(tree, manifests[one], manifests)]
            return outer[-1] if outer else folder
    for folder in folders:
        manifest = manifests[folder]
        if "test" in manifest.scripts and any(manifest.needs(tool) for tool in _TOOLS):
            return folder
    return folders[-1] if folders else None


def workspaces(tree: Tree, root: Manifest, manifests: Mapping[str, Manifest]) -> frozenset[str]:
    """Folders of the packages that the patterns of a workspace's root take in."""
    patterns = _patterns(tree, root.folder)
    wanted = [_parts(pattern) for pattern in patterns if not pattern.startswith("!")]
    unwanted = [_parts(pattern[1:]) for pattern in patterns if pattern.startswith("!")]
    found = set()
    for folder in manifests:
        inside = relative(folder, root.folder)
        if inside == "." or inside.startswith(".."):
            continue
        parts = inside.split("/")
        if any(_matches(parts, one) for one in wanted) and not any(_matches(parts, one) for one in unwanted):
            found.add(folder)
    return frozenset(found)


def _is_installed(tree: Tree, manifest: Manifest) -> bool:
    locks = [placed(name, manifest.folder) for names in LOCKS.values() for name in names]
    return any(lock in tree for lock in locks) or bool(_patterns(tree, manifest.folder))


def _patterns(tree: Tree, folder: str) -> tuple[str, ...]:
    """Of package.json, pnpm-workspace.yaml and lerna.json."""
    document = read_json(tree, placed("package.json", folder)) or {}
    told = document.get("workspaces")
    listed = told.get("packages") if isinstance(told, dict) else told
    found = [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else []
    lines = text_at(tree, folder, "pnpm-workspace.yaml").splitlines()
    is_packages = False
    for line in lines[:500]:
        if line and not line[0].isspace() and not line.startswith(("-", "#")):
            is_packages = bool(re.match(r"packages\s*:", line))
        item = re.match(r"""^\s*-\s*["']?([^"'#]+?)["']?\s*(#.*)?$""", line)
        if is_packages and item:
            found.append(item[1])
    lerna = (read_json(tree, placed("lerna.json", folder)) or {}).get("packages")
    found += [item for item in lerna if isinstance(item, str)] if isinstance(lerna, list) else []
    return tuple(item for item in found[:200] if item.count("**") <= _MOST_ANY)


def _parts(pattern: str) -> list[str]:
    return posixpath.normpath(pattern).split("/")


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """`*` within one part, `**` for any number of parts."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
