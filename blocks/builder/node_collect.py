"""Runs in the fetch container after an install: makes the tree of dependencies one archive that fits any workspace.

Links to packages of the workspace come to point into it; releases of the project itself and time stamps go; packages
that compile something are named. Nothing of what was fetched runs. Standard library only.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

LEFT_BEHIND = frozenset(
    {
        ".modules.yaml",
        ".yarn-state.yml",
        ".yarn-integrity",
        ".pnpm-workspace-state.json",
        ".pnpm-workspace-state-v1.json",
    }
    | {".package-lock.json", ".pnpm/lock.yaml"}
)
"""What managers note for their next install: times, and copies of the lock, which is the outcome's."""


def main(root: str, workspace: str, archive: str, own: "list[str]", dated: bool) -> None:
    """`own`: names of the project's packages. `dated`: a lock fixed every version, so that none is of later than it."""
    base = Path(root)
    links = sorted(str(path.relative_to(base)) for path in tops(base))
    dropped, native, count = [], [], 0
    for top in links:
        for folder, names, files in os.walk(base / top):
            for name in [*names, *files]:
                path = Path(folder) / name
                if path.is_symlink():
                    if not relink(path, base, workspace):
                        dropped.append(f"link {path.relative_to(base)}")
                elif str(path.relative_to(base / top)) in LEFT_BEHIND:
                    path.unlink()
            for name in list(names):
                path = Path(folder) / name
                if path.is_symlink() or not (path / "package.json").is_file():
                    continue
                count += 1
                told = manifest(path)
                full = f"{Path(folder).name}/{name}" if Path(folder).name.startswith("@") else name
                if not dated and full in own and told.get("name") == full:
                    shutil.rmtree(path)
                    names.remove(name)
                    dropped.append(f"{full}@{told.get('version')}, a release of the project itself")
                elif (path / "binding.gyp").is_file() and not (path / "prebuilds").is_dir():
                    native.append(str(path.relative_to(base)))
    pack(base, links, archive)
    facts = {"links": links, "native": sorted(native), "dropped": dropped, "count": count}
    sys.stdout.write(json.dumps(facts) + "\n")


def tops(base: Path) -> "list[Path]":
    """Folders named node_modules that lie in no other."""
    found = []
    for folder, names, _ in os.walk(base):
        if "node_modules" in names:
            names.remove("node_modules")
            path = Path(folder) / "node_modules"
            if path.is_dir() and not path.is_symlink() and any(path.iterdir()):
                found.append(path)
    return found


def relink(path: Path, base: Path, workspace: str) -> bool:
    """Keep links between dependencies; turn links to the workspace's packages; remove others."""
    target = os.path.normpath(path.parent / path.readlink())
    if not target.startswith(f"{base}/"):
        path.unlink()
        return False
    inside = os.path.relpath(target, base)
    if "node_modules" not in inside.split("/"):
        path.unlink()
        path.symlink_to(f"{workspace}/{inside}")
    return True


def manifest(path: Path) -> "dict[str, object]":
    """The package.json of a folder; empty where it is none."""
    try:
        document = json.loads((path / "package.json").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def pack(base: Path, links: "list[str]", archive: str) -> None:
    """A sorted archive with one time and owner, so that equal trees give equal bytes."""
    options = ["--sort=name", "--mtime=@315619200", "--owner=0", "--group=0", "--numeric-owner", "--hard-dereference"]
    names = ["--null", "--files-from=-"]
    making = subprocess.Popen(
        ["tar", *options, "-C", str(base), "-cf", "-", *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with Path(archive).open("wb") as out:
        packing = subprocess.Popen(["gzip", "-1", "-n"], stdin=making.stdout, stdout=out)
        assert making.stdin and making.stdout
        making.stdout.close()
        making.stdin.write(b"\0".join(link.encode() for link in links))
        making.stdin.close()
        if packing.wait() or making.wait():
            raise SystemExit("packing the dependencies failed")


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    main(orders["root"], orders["workspace"], orders["archive"], orders["own"], orders["dated"])
