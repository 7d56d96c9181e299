"""Which package manager a tree uses, which release of it, and how it installs without running anything."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from blocks.trees import Tree
from tasks.archaeology.node.manifests import Manifest, text_of
from tasks.archaeology.node.ranges import parse_version

LOCKS = {
    "pnpm": ("pnpm-lock.yaml",),
    "yarn": ("yarn.lock",),
    "bun": ("bun.lock", "bun.lockb"),
    "npm": ("npm-shrinkwrap.json", "package-lock.json"),
}
"""By manager, in the order they are looked for where `packageManager` says nothing."""

DEFAULTS = {"pnpm": "9.15.9", "yarn": "1.22.22", "berry": "4.9.2", "bun": "1.3.5"}
_PNPM_OF_LOCK = (("9", "9.15.9"), ("6", "8.15.9"), ("5.4", "7.33.7"), ("5", "6.35.1"))
"""By the beginning of lockfileVersion."""
_BERRY_OF_LOCK = {4: "3.8.7", 5: "3.8.7", 6: "3.8.7", 7: "4.9.2", 8: "4.9.2"}
"""By `__metadata.version`; release 2 is not on the registry, and release 3 reads its locks."""
_QUIET = {
    "npm_config_audit": "false",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_fetch_retry_maxtimeout": "10000",
    "npm_config_fund": "false",
    "npm_config_ignore_scripts": "true",
    "npm_config_script_shell": "/bin/false",
    "npm_config_update_notifier": "false",
    "npm_config_manage_package_manager_versions": "false",
    "npm_config_package_manager_strict": "false",
    "pnpm_config_ignore_scripts": "true",
    "pnpm_config_pm_on_fail": "ignore",
    "pnpm_config_script_shell": "/bin/false",
    "YARN_ENABLE_TELEMETRY": "0",
    "YARN_ENABLE_SCRIPTS": "false",
    "YARN_ENABLE_GLOBAL_CACHE": "false",
    "YARN_NODE_LINKER": "node-modules",
    "YARN_CACHE_FOLDER": "/tmp/yarn-cache",
    "YARN_IGNORE_PATH": "1",
    "COREPACK_ENABLE_STRICT": "0",
    "HOME": "/tmp/home",
    "CI": "1",
}


@dataclass(frozen=True)
class Manager:
    """A package manager. npm is part of the runtime image; others are fetched as the package `package`."""

    name: str
    """npm, pnpm, yarn (1), berry (yarn 2 and later) or bun."""
    version: str | None
    lock: str | None
    """Path of the lock file in the tree, or None."""

    @property
    def label(self) -> str:
        """For recipes and messages."""
        return f"{self.name}@{self.version}" if self.version else self.name

    @property
    def package(self) -> str | None:
        """Name on the registry of what is fetched to run it."""
        names = {"pnpm": "pnpm", "yarn": "yarn", "berry": "@yarnpkg/cli-dist", "bun": "@oven/bun-linux-{cpu}"}
        return names.get(self.name)

    @property
    def least_node(self) -> int:
        """The first major version of Node.js that this release runs on."""
        release = parse_version(self.version or "") or (0, 0, 0)
        if self.name == "pnpm":
            return 22 if release[0] >= 11 else 18 if release[0] >= 9 else 16 if release[0] == 8 else 14
        return 18 if self.name == "berry" and release[0] >= 4 else 14

    def argv(self, *, frozen: bool, legacy_peers: bool = False, before: str | None = None) -> list[str]:
        """The command that installs; lifecycle scripts, plugins and hooks of the repository never run."""
        if self.name == "pnpm":
            mode = "--frozen-lockfile" if frozen else "--no-frozen-lockfile"
            return ["pnpm", "install", mode, "--ignore-scripts", "--ignore-pnpmfile", "--reporter=append-only"]
        locked = ["--frozen-lockfile"] if frozen else []
        if self.name == "yarn":
            return [
                "yarn",
                "install",
                *locked,
                "--ignore-scripts",
                "--ignore-engines",
                "--non-interactive",
                "--no-progress",
            ]
        if self.name == "berry":
            return ["yarn", "install", "--immutable" if frozen else "--no-immutable", "--mode=skip-build"]
        if self.name == "bun":
            return ["bun", "install", *locked, "--ignore-scripts", "--no-progress", "--linker=hoisted"]
        peers = ["--legacy-peer-deps"] if legacy_peers else []
        dated = [f"--before={before}"] if before else []
        return ["npm", "ci" if frozen else "install", "--ignore-scripts", "--no-progress", *peers, *dated]

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables of the fetch."""
        return _QUIET


def choose_manager(tree: Tree, root: Manifest) -> Manager:
    """By `packageManager`, else by the lock file at the root, else npm without a lock."""
    named, _, release = (root.package_manager or "").partition("@")
    locks = {name: next((path for path in paths if path in tree), None) for name, paths in LOCKS.items()}
    if named in LOCKS and (locks[named] or not any(locks.values())):
        name = named
    else:
        name = next((one for one, path in locks.items() if path), "npm")
    lock = locks[name]
    asked = release if name == named and parse_version(release) else None
    if name == "yarn":
        return _yarn(tree, asked, lock)
    if name == "pnpm":
        return Manager("pnpm", asked or _pnpm_of_lock(text_of(tree, lock or "")), lock)
    if name == "bun":
        return Manager("bun", asked or DEFAULTS["bun"], lock)
    return Manager("npm", None, lock)


def _yarn(tree: Tree, asked: str | None, lock: str | None) -> Manager:
    found = re.search(r"^__metadata:\s*\n\s+version: \"?(\d+)", text_of(tree, lock or ""), re.M)
    release = parse_version(asked or "")
    if found or (release and release[0] > 1):
        fitting = asked if release and release[0] > 2 else None
        by_lock = _BERRY_OF_LOCK.get(int(found[1])) if found else None
        return Manager("berry", fitting or by_lock or DEFAULTS["berry"], lock)
    return Manager("yarn", asked if release else DEFAULTS["yarn"], lock)


def _pnpm_of_lock(text: str) -> str:
    found = re.search(r"^lockfileVersion:\s*['\"]?([\d.]+)", text, re.M)
    return next((release for start, release in _PNPM_OF_LOCK if found and found[1].startswith(start)), DEFAULTS["pnpm"])
