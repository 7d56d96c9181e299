"""What goes into the fetch: manifests, locks and settings as data, and nothing of the repository that could run.

The union of both states: the outcome's manifests and lock, and what the start's manifests name beside it.
"""

import json
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from blocks.trees import File, Tree
from tasks.archaeology.node.managers import LOCKS, Manager
from tasks.archaeology.node.manifests import SECTIONS, Manifest, read_json, text_of

_LEFT_OUT_KEYS = frozenset({"scripts", "packageManager", "devEngines", "engines", "husky", "volta", "pre-commit"})
"""Of a manifest: what would run, or ask for another manager."""
_FOREIGN = re.compile(r"^(git[+:@]|github:|gitlab:|bitbucket:|gist:|https?:|ssh:|[\w.-]+/[\w.-]+(#.*)?$)")
_ADDRESS = re.compile(r"^(git|ssh|https?://(?:[^/@]*@)?(github|gitlab|bitbucket|codeload)\b)")
_LOCAL = re.compile(r"^(file|link|portal):(.*)$")
_NPMRC = re.compile(
    r"^(legacy-peer-deps|strict-peer-dependencies|auto-install-peers|node-linker|shamefully-hoist|(public-)?hoist(-pattern"
    r"(\[\])?)?|link-workspace-packages|prefer-workspace-packages|shared-workspace-lockfile|install-links|dedupe-peer-"
    r"dependents|resolution-mode|inject-workspace-packages|save-workspace-protocol|lockfile-include-tarball-url"
    r"|ignore-workspace-root-check|include-workspace-root|hoist-workspace-packages|install-strategy|omit|include)\s*="
)
_YARNRC = re.compile(
    r"^(nmHoistingLimits|nmMode|nmSelfReferences|defaultSemverRangePrefix|enableTransparentWorkspaces|compressionLevel"
    r"|packageExtensions|supportedArchitectures|cacheMigrationMode):"
)

_PNPM_SETTINGS = (
    "packages", "catalog", "catalogs", "overrides", "packageExtensions", "patchedDependencies", "peerDependencyRules",
    "ignoredOptionalDependencies", "allowedDeprecatedVersions", "supportedArchitectures", "nodeLinker", "hoist",
    "hoistPattern", "publicHoistPattern", "shamefullyHoist", "hoistWorkspacePackages", "hoistingLimits",
    "linkWorkspacePackages", "preferWorkspacePackages", "sharedWorkspaceLockfile", "saveWorkspaceProtocol",
    "injectWorkspacePackages", "dedupePeerDependents", "dedupeDirectDeps", "dedupeInjectedDeps", "autoInstallPeers",
    "strictPeerDependencies", "resolvePeersFromWorkspaceRoot", "resolutionMode", "includeWorkspaceRoot",
    "lockfileIncludeTarballUrl", "excludeLinksFromLockfile", "allowNonAppliedPatches", "allowUnusedPatches",
    "onlyBuiltDependencies", "neverBuiltDependencies", "ignoredBuiltDependencies", "peersSuffixMaxLength",
)  # fmt: skip
"""Settings of pnpm that say what is installed; not those that name code to run (configDependencies, pnpmfile,
executionEnv, useNodeVersion, scriptShell), registries or credentials."""
_PNPM = re.compile(rf"^({'|'.join(_PNPM_SETTINGS)})\s*:")


@dataclass(frozen=True)
class Sources:
    """The tree of the fetch. `is_frozen`: the lock stands for exactly these manifests."""

    tree: dict[str, File]
    is_frozen: bool
    left_out: tuple[str, ...]
    """Dependencies that no index serves: Git addresses, archives elsewhere, folders that are not there."""


def gather_sources(start: Tree, solution: Tree, manager: Manager, manifests: Mapping[str, Manifest]) -> Sources:
    """Collect what the manager reads. `manifests` are the solution's."""
    tree: dict[str, File] = {}
    left_out: dict[str, None] = {}
    dropped_names: dict[str, None] = {}
    added = False
    for folder, manifest in manifests.items():
        path = "package.json" if folder == "." else f"{folder}/package.json"
        document = read_json(solution, path) or {}
        extra = _extra(read_json(start, path) or {}, document)
        added = added or bool(extra)
        for section, items in extra.items():
            table = document.setdefault(section, {})
            if isinstance(table, dict):
                table.update(items)
        for name, wish in _drop_foreign(document, folder, solution):
            left_out[f"{name}@{wish}"] = dropped_names[name] = None
        kept = {key: value for key, value in document.items() if key not in _LEFT_OUT_KEYS}
        if isinstance(table := kept.get("pnpm"), dict):
            kept["pnpm"] = {key: value for key, value in table.items() if key in _PNPM_SETTINGS}
        tree[path] = File(content=json.dumps(kept, indent=2).encode() + b"\n")
        for target in manifest.bins:
            tree.setdefault(manifest.path(target), File(content=b"#!/usr/bin/env node\n", executable=True))
    tree.update(_settings(solution))
    tree.update({path: file for path, file in solution.items() if _is_data(path)})
    if manager.name == "npm" and manager.lock:
        for alias, stand_in in _elsewhere(solution, manager.lock, set(dropped_names)):
            left_out[f"{alias}, which a dependency has from elsewhere: {stand_in} of the registry"] = None
            dropped_names[alias] = None
            _override(tree, alias, stand_in)
    if manager.lock:
        tree[manager.lock] = _lock(solution[manager.lock], manager, dropped_names)
    return Sources(
        {path: file for path, file in tree.items() if not path.startswith("..") and file.link is None},
        is_frozen=bool(manager.lock) and not added and not left_out,
        left_out=tuple(left_out),
    )


def without_lock(tree: Tree) -> dict[str, File]:
    """The sources without any lock file."""
    names = {name for paths in LOCKS.values() for name in paths}
    return {path: file for path, file in tree.items() if posixpath.basename(path) not in names}


def _extra(start: dict[str, object], solution: dict[str, object]) -> dict[str, dict[str, str]]:
    """Dependencies of the start's manifest that the solution's names in no section."""
    if not start:
        return {}
    known = {name for section in SECTIONS for name in _texts(solution.get(section))}
    found: dict[str, dict[str, str]] = {}
    for section in SECTIONS[:3]:
        items = {name: wish for name, wish in _texts(start.get(section)).items() if name not in known}
        if items:
            found[section] = items
    return found


def _drop_foreign(document: dict[str, object], folder: str, tree: Tree) -> Iterator[tuple[str, object]]:
    for section in SECTIONS:
        table = document.get(section)
        if isinstance(table, dict):
            for name, wish in list(table.items()):
                if not isinstance(wish, str) or _is_foreign(wish, folder, tree):
                    del table[name]
                    yield name, wish


def _is_foreign(wish: str, folder: str, tree: Tree) -> bool:
    local = _LOCAL.match(wish)
    if not local:
        return bool(_FOREIGN.match(wish)) and not wish.startswith("npm:")
    where = posixpath.normpath(posixpath.join(folder, local[2]))
    inside = where == "." or not where.startswith(("..", "/"))
    return not inside or (where not in tree and posixpath.normpath(f"{where}/package.json") not in tree)


def _settings(tree: Tree) -> Iterator[tuple[str, File]]:
    """Settings that change what is installed; addresses, credentials, plugins and hooks stay behind."""
    npmrc = [line for line in text_of(tree, ".npmrc").splitlines() if _NPMRC.match(line.strip())]
    yield ".npmrc", File(content="\n".join([*npmrc, ""]).encode())
    if ".yarnrc.yml" in tree:
        yield (
            ".yarnrc.yml",
            File(content=_blocks(text_of(tree, ".yarnrc.yml"), _YARNRC, ("enableTelemetry: false",)).encode()),
        )
    if "pnpm-workspace.yaml" in tree:
        yield "pnpm-workspace.yaml", File(content=_blocks(text_of(tree, "pnpm-workspace.yaml"), _PNPM, ()).encode())


def _blocks(text: str, allowed: re.Pattern[str], first: Sequence[str]) -> str:
    """Top-level keys of a YAML file that are allowed, each with the lines below it: indented, of a list, comments."""
    kept, lines = False, list(first)
    for line in text.splitlines():
        if line and not line[0].isspace() and not re.match(r"#|-(\s|$)", line):
            kept = bool(allowed.match(line))
        if kept:
            lines.append(line)
    return "\n".join([*lines, ""])


def _is_data(path: str) -> bool:
    """Patches of packages and vendored archives."""
    return path.endswith((".patch", ".diff", ".tgz")) and "node_modules" not in path.split("/")


def _lock(file: File, manager: Manager, left_out: Collection[str]) -> File:
    """The lock without what is left out, where the manager would fetch it all the same, and without hooks' checksums."""
    if manager.name == "pnpm":
        return File(content=re.sub(rb"(?m)^pnpmfileChecksum:.*\n", b"", file.content))
    if manager.name != "npm" or not left_out:
        return file
    try:
        document = json.loads(file.content)
    except (ValueError, RecursionError):
        return file
    for name in left_out:
        for table in _tables(document):
            table.pop(name, None)
            table.pop(f"node_modules/{name}", None)
    return File(content=json.dumps(document, indent=2).encode())


def _elsewhere(tree: Tree, lock: str, known: Collection[str]) -> list[tuple[str, str]]:
    """What dependencies of dependencies have from Git or an archive, and the release of the registry it is one of."""
    packages = (read_json(tree, lock) or {}).get("packages")
    found = []
    for path, entry in packages.items() if isinstance(packages, dict) else ():
        alias = path.rpartition("node_modules/")[2]
        facts = _texts(entry)
        if alias and alias not in known and _ADDRESS.match(facts.get("resolved", "")) and "version" in facts:
            found.append((alias, f"npm:{facts.get('name', alias)}@{facts['version']}"))
    return found


def _override(tree: dict[str, File], alias: str, stand_in: str) -> None:
    document = read_json(tree, "package.json") or {}
    overrides = document.get("overrides")
    document["overrides"] = {**(overrides if isinstance(overrides, dict) else {}), alias: stand_in}
    tree["package.json"] = File(content=json.dumps(document, indent=2).encode() + b"\n")


def _tables(document: object) -> Iterator[dict[str, object]]:
    """Where an npm lock names a dependency of the root: its packages, its old-style tree, the root's own sections."""
    packages = document.get("packages") if isinstance(document, dict) else None
    root = packages.get("") if isinstance(packages, dict) else None
    sections = [root.get(section) for section in SECTIONS] if isinstance(root, dict) else []
    for table in (packages, document.get("dependencies") if isinstance(document, dict) else None, *sections):
        if isinstance(table, dict):
            yield table


def _texts(value: object) -> dict[str, str]:
    return {key: one for key, one in value.items() if isinstance(one, str)} if isinstance(value, dict) else {}
