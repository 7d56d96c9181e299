"""Where things of a JavaScript candidate lie inside every container, beside those of places.py."""

import posixpath

DEPENDENCIES = "/deps"
"""Mirrors the workspace's folders; holds `node_modules` of each. The workspace has links to them."""
NODE_TOOLS = "/opt/node-tools"
"""Package managers other than npm, each in a folder of its name."""
TREE_PACKAGE = "node_modules"
"""Name, in recipes, of the one package that is the whole tree of dependencies."""
TREE_FILENAME = "node_modules.tar.gz"
_CACHES = (".cache", ".vite", ".vite-temp", ".vitest")


def caches(folder: str) -> tuple[str, ...]:
    """Folders below the project's own `node_modules` that test tools write to, relative to DEPENDENCIES."""
    return tuple(posixpath.normpath(f"{folder}/node_modules/{name}") for name in _CACHES)
