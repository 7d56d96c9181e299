"""A planned JavaScript build with one fix of the table of remedies (data/remedies.toml)."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from blocks.engine.node_runtime import NODE_VERSIONS
from blocks.recipe import NodeCommand, Recipe
from blocks.trees import File
from tasks.archaeology.folders import placed
from tasks.archaeology.node.manifests import Manifest, read_json
from tasks.archaeology.node.sources import Sources
from tasks.archaeology.remedies import Action, Fix

_NAME = re.compile(r"^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$")
_BUILTINS = frozenset(
    {
        "assert",
        "buffer",
        "child_process",
        "cluster",
        "console",
        "constants",
        "crypto",
        "dgram",
        "dns",
        "domain",
        "events",
    }
    | {"fs", "http", "http2", "https", "inspector", "module", "net", "os", "path", "perf_hooks", "process", "punycode"}
    | {
        "querystring",
        "readline",
        "repl",
        "stream",
        "string_decoder",
        "sys",
        "timers",
        "tls",
        "tty",
        "url",
        "util",
        "v8",
    }
    | {"vm", "wasi", "worker_threads", "zlib", "node", "bun", "file", "http"}
)


def amend_recipe(recipe: Recipe, fix: Fix, manifests: Mapping[str, Manifest]) -> Recipe | None:
    """The recipe with a fix that changes how it is built or run; None where the fix is none of these or changes nothing."""
    if fix.action is Action.SET_ENVIRONMENT:
        name, _, value = fix.argument.partition("=")
        known = dict(recipe.environment)
        return None if name in known else _with_environment(recipe, {**known, name: value})
    if fix.action is Action.RUNTIME:
        majors = sorted(NODE_VERSIONS, key=int)
        place = majors.index(recipe.runtime) + (1 if fix.argument == "newer" else -1)
        return recipe.model_copy(update={"runtime": majors[place]}) if 0 <= place < len(majors) else None
    if fix.action is Action.BUILD and recipe.node is not None:
        folder = _package_folder(fix.argument, manifests)
        if folder is None or "build" not in manifests[folder].scripts:
            return None
        command = NodeCommand(argv=("npm", "run", "build"), folder=placed(folder, recipe.folder))
        if command in recipe.node.commands:
            return None
        commands = (command, *recipe.node.commands)
        return recipe.model_copy(update={"node": recipe.node.model_copy(update={"commands": commands})})
    return None


def amend_sources(sources: Sources, fix: Fix, manifests: Mapping[str, Manifest]) -> Sources | None:
    """The sources with a further package of the registry; None where it is named already, built in, or the project's."""
    name = fix.argument
    own = {manifest.name for manifest in manifests.values()}
    if fix.action is not Action.ADD_REQUIREMENT or not _NAME.match(name) or name in own or name in _BUILTINS:
        return None
    document = read_json(sources.tree, "package.json")
    if document is None or any(manifest.needs(name) for manifest in manifests.values()):
        return None
    table = document.get("devDependencies")
    wanted = {**table, name: "*"} if isinstance(table, dict) else {name: "*"}
    if isinstance(table, dict) and name in table:
        return None
    content = json.dumps({**document, "devDependencies": wanted}, indent=2).encode() + b"\n"
    return replace(sources, tree={**sources.tree, "package.json": File(content=content)}, is_frozen=False)


def _with_environment(recipe: Recipe, values: Mapping[str, str]) -> Recipe:
    return recipe.model_copy(update={"environment": tuple(sorted(values.items()))})


def _package_folder(name: str, manifests: Mapping[str, Manifest]) -> str | None:
    if name == ".":
        return "." if "." in manifests else None
    return next((folder for folder, manifest in manifests.items() if manifest.name == name), None)
