"""Which paths a commit's `.gitignore` files leave out of version control. Git itself decides; nothing is checked out."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from blocks.repositories.git import GitError, run_git
from blocks.repositories.records import LINK_MODE
from blocks.repositories.repository import Repository
from blocks.trees import TreeUnsafeError, safe_path

_MAX_FILES = 200
_MAX_BYTES = 1 << 20


def ignored(repository: Repository, commit: str, paths: Sequence[str]) -> frozenset[str]:
    """Those of the paths that the commit's `.gitignore` files name, whether or not the commit holds them.

    Raises:
        GitError: git cannot read them.
    """
    asked = [path for path in paths if _is_plain(path)]
    rules = [
        entry
        for entry in repository.tree_paths(commit)
        if entry.path.rpartition("/")[2] == ".gitignore" and entry.mode != LINK_MODE and (entry.size or 0) <= _MAX_BYTES
    ]
    if not asked or not rules:
        return frozenset()
    with tempfile.TemporaryDirectory(prefix="envmill-ignore-") as folder:
        for entry in rules[:_MAX_FILES]:
            _place(Path(folder), entry.path, repository.read(commit, entry.path) or b"")
        given = "".join(f"{path}\0" for path in asked).encode("utf-8", "surrogateescape")
        command = ["--work-tree", folder, "check-ignore", "--no-index", "-z", "--stdin"]
        result = run_git(command, git_dir=repository.path, stdin=given, literal_paths=False)
    if result.code not in (0, 1):
        raise GitError(f"{repository.identity} at {commit}: its .gitignore cannot be read ({result.errors[-200:]})")
    return frozenset(result.output.decode("utf-8", "surrogateescape").split("\0")) & frozenset(asked)


def _is_plain(path: str) -> bool:
    """Whether it may lie in a tree, and is no pattern with a colon in front."""
    try:
        return not safe_path(path).startswith(":")
    except TreeUnsafeError:
        return False


def _place(folder: Path, path: str, content: bytes) -> None:
    try:
        target = folder / safe_path(path)
    except TreeUnsafeError:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
