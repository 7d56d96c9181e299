"""The digest of a Harbor task, as `harbor dataset add` and the Hub compute it (harbor 0.26, publisher/packager.py).

sha256 over the sorted lines `path NUL sha256(content) LF` of the packaged files; modes do not count.
"""

import hashlib

from blocks.errors import PermanentError
from blocks.trees import Tree

SINGLE_FILES = frozenset({"task.toml", "instruction.md", "README.md", "trajectory.json"})
FOLDERS = ("environment/", "tests/", "solution/", "steps/")
LEFT_OUT_SUFFIXES = (".pyc", ".swp", ".swo", "~")
"""What Harbor's packager leaves out where the task has no .gitignore; so are __pycache__ and .DS_Store."""
SPECIAL_NAMES = frozenset({"__pycache__", ".DS_Store", ".harborignore"})


class TaskUnpublishableError(PermanentError):
    """A file cannot travel in a Harbor task. Says which and why."""


def travels(path: str) -> bool:
    """Whether Harbor's packager takes a file of this name as what it is, and every consumer can write it."""
    parts = path.split("/")
    if SPECIAL_NAMES.intersection(parts) or any(part.endswith(LEFT_OUT_SUFFIXES) for part in parts):
        return False
    return path.isprintable() and path == path.encode(errors="replace").decode()


def check_packaged(tree: Tree) -> None:
    """Refuse what would not arrive: links, which several consumers drop, and names that do not travel.

    Raises:
        TaskUnpublishableError: names the file.
    """
    for path, file in tree.items():
        if file.link is not None:
            raise TaskUnpublishableError(f"{path[:200]!r} is a link; links travel in environment/workspace.tar only")
        if not travels(path) or path == ".gitignore":
            raise TaskUnpublishableError(f"{path[:200]!r} has a name that Harbor's packager leaves out or acts upon")


def task_digest(tree: Tree) -> str:
    """`sha256:<hex>` of a Harbor task given as a tree.

    Raises:
        TaskUnpublishableError: as `check_packaged`.
    """
    check_packaged(tree)
    total = hashlib.sha256()
    for path in sorted(path for path in tree if path in SINGLE_FILES or path.startswith(FOLDERS)):
        total.update(f"{path}\0{hashlib.sha256(tree[path].content).hexdigest()}\n".encode())
    return f"sha256:{total.hexdigest()}"
