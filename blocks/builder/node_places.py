"""Where things of a JavaScript candidate lie inside every container, beside those of places.py."""

DEPENDENCIES = "/deps"
"""Mirrors the workspace's folders; holds `node_modules` of each. The workspace has links to them."""
NODE_TOOLS = "/opt/node-tools"
"""Package managers other than npm, each in a folder of its name."""
TREE_PACKAGE = "node_modules"
"""Name, in recipes, of the one package that is the whole tree of dependencies."""
TREE_FILENAME = "node_modules.tar.gz"
CACHES = (".cache", ".vite", ".vite-temp", ".vitest")
"""Folders below the top `node_modules` that test tools write to."""
