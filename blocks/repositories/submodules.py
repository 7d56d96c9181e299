"""Whole checkouts: a commit's files with the files of its submodules at the commits it pins.

`.gitmodules` is hostile: git's own parser reads it as data, and only addresses of public repositories are followed, each
through the mirror map. Never a local path, a helper (`ext::`), or an option.
"""

import posixpath

from blocks.errors import EnvmillError, TransientError, UsageError
from blocks.records import Record
from blocks.repositories.address import normalise
from blocks.repositories.git import run_git
from blocks.repositories.records import SUBMODULE_MODE, Submodule
from blocks.repositories.repository import MAX_TREE_BYTES, Repository
from blocks.trees import File, Tree, misplaced, safe_path

MAX_DEPTH = 3
MAX_SUBMODULES = 40
_MAX_GITMODULES_BYTES = 1 << 20


class Checkout(Record):
    """A commit as a workspace, every content checked against the id that its commit gives it."""

    tree: dict[str, File]
    submodules: tuple[Submodule, ...] = ()
    """Sorted by path, those within others too."""
    lfs_pointers: tuple[str, ...] = ()
    """Paths whose content is a Git LFS pointer; the pointer is what the tree holds."""

    @property
    def vendored(self) -> tuple[str, ...]:
        """Folders of the outermost submodules that are there."""
        return tuple(one.path for one in self.submodules if one.fault is None)

    def without(self, folder: str, fault: str) -> "Checkout":
        """The same without one submodule's files and those within it; itself where `folder` is no submodule here."""
        if not any(one.path == folder for one in self.submodules):
            return self
        below = f"{folder}/"
        kept = [one for one in self.submodules if not one.path.startswith(below)]
        return Checkout(
            tree={path: file for path, file in self.tree.items() if not path.startswith(below)},
            submodules=tuple(
                one.model_copy(update={"files": 0, "fault": one.fault or fault}) if one.path == folder else one
                for one in kept
            ),
            lfs_pointers=tuple(path for path in self.lfs_pointers if not path.startswith(below)),
        )


class Checkouts:
    """Checkouts of one repository. A submodule's commit is read once, however many commits pin it."""

    def __init__(self, repository: Repository, *, max_bytes: int = MAX_TREE_BYTES) -> None:
        self.repository = repository
        self.max_bytes = max_bytes
        self._read: dict[tuple[str, str, int], Checkout | str] = {}

    def take(self, *commits: str) -> list[Checkout]:
        """Checkouts that can be compared: a submodule that one of them lacks is left out of all, with the reason.

        Raises:
            TreeUnsafeError, ObjectsMissingError: as `Repository.snapshot`; never for a submodule's sake.
        """
        taken = [self._take(self.repository, commit, 0, MAX_SUBMODULES) for commit in commits]
        for folder in sorted({one.path for checkout in taken for one in checkout.submodules if one.fault}):
            fault = next(
                one.fault for checkout in taken for one in checkout.submodules if one.path == folder and one.fault
            )
            taken = [checkout.without(folder, f"in another state: {fault}") for checkout in taken]
        return taken

    def _take(self, repository: Repository, commit: str, depth: int, room: int) -> Checkout:
        snapshot = repository.snapshot(commit, max_bytes=self.max_bytes)
        pins = {entry.path: entry.blob for entry in repository.tree_paths(commit) if entry.mode == SUBMODULE_MODE}
        addresses = _addresses(repository, commit) if pins else {}
        tree = dict(snapshot.tree)
        found: list[Submodule] = []
        pointers = list(snapshot.lfs_pointers)
        for path, pin in sorted(pins.items()):
            safe_path(path)
            told = addresses.get(path)
            module = Submodule(path=path, commit=pin, repository=None)
            if told is None:
                found.append(module.model_copy(update={"fault": "`.gitmodules` gives no address for it"}))
                continue
            try:
                identity = resolve_address(repository.identity, told)
            except UsageError as error:
                found.append(module.model_copy(update={"fault": str(error)[:300]}))
                continue
            module = module.model_copy(update={"repository": identity})
            inner = self._inner(identity, pin, depth + 1, room=room - len(found) - 1)
            fault = inner if isinstance(inner, str) else self._clash(tree, inner.tree, path)
            if isinstance(inner, str) or fault is not None:
                found.append(module.model_copy(update={"fault": fault}))
                continue
            tree |= {f"{path}/{name}": file for name, file in inner.tree.items()}
            found.append(module.model_copy(update={"files": len(inner.tree)}))
            found += [one.model_copy(update={"path": f"{path}/{one.path}"}) for one in inner.submodules]
            pointers += [f"{path}/{name}" for name in inner.lfs_pointers]
        return Checkout(tree=tree, submodules=tuple(found), lfs_pointers=tuple(pointers))

    def _inner(self, identity: str, pin: str, depth: int, *, room: int) -> Checkout | str:
        """A submodule's own checkout, or why it could not be had. A fault of it is none of the repository's."""
        if depth > MAX_DEPTH:
            return f"more than {MAX_DEPTH} submodules within each other"
        if room < 0:
            return f"more than {MAX_SUBMODULES} submodules"
        if self.repository.siblings is None:
            return "this repository was opened without a way to others"
        key = (identity, pin, depth)
        if key not in self._read:
            try:
                self._read[key] = self._take(self.repository.siblings.pinned(identity, pin), pin, depth, room)
            except TransientError as error:
                # Not raised: a host that is gone for good looks like this for ever, and nothing depends on a submodule alone.
                self._read[key] = f"not reached this time ({str(error)[:240]}); a retry asks once more"
            except EnvmillError as error:
                self._read[key] = str(error)[:300]
        return self._read[key]

    def _clash(self, tree: Tree, inner: Tree, path: str) -> str | None:
        total = sum(len(file.content) for some in (tree, inner) for file in some.values())
        if total > self.max_bytes:
            return f"the tree would hold {total} bytes, more than {self.max_bytes}"
        if misplaced({**tree, **{f"{path}/{name}": file for name, file in inner.items()}}):
            return "its files would lie below a file or link"
        return None


def resolve_address(parent: str, address: str) -> str:
    """The public identity a submodule's address names; relative ones are relative to the parent's identity.

    Raises:
        UsageError: no address of a public repository: a local path, a helper, an option, a climb beyond the host.
    """
    if not address.startswith(("./", "../")):
        return normalise(address)
    scheme, _, rest = parent.partition("://")
    host, _, path = rest.partition("/")
    target = posixpath.normpath(posixpath.join("/", path, address.rstrip("/")))
    climbs = sum(part == ".." for part in address.split("/"))
    if climbs > len(path.split("/")):
        raise UsageError(f"submodule address {address[:100]!r} climbs beyond the host of {parent}")
    return normalise(f"{scheme}://{host}{target}")


def _addresses(repository: Repository, commit: str) -> dict[str, str]:
    """Submodule path to the address that the commit's `.gitmodules` gives it; empty where it cannot be read."""
    asked = ["config", "--blob", f"{commit}:.gitmodules", "--no-includes", "-z", "--list"]
    result = run_git(asked, git_dir=repository.path, max_output_bytes=_MAX_GITMODULES_BYTES)
    if result.code:
        return {}
    names: dict[str, dict[str, str]] = {}
    for item in result.output.decode("utf-8", "backslashreplace").split("\0"):
        key, _, value = item.partition("\n")
        section, _, variable = key.rpartition(".")
        if section.startswith("submodule."):
            names.setdefault(section, {})[variable] = value
    return {one["path"].rstrip("/"): one["url"] for one in names.values() if one.get("path") and one.get("url")}
