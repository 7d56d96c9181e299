"""The digest of a Harbor task, as `harbor dataset add` and the Hub compute it (harbor 0.26, publisher/packager.py).

sha256 over the sorted lines `path NUL sha256(content) LF` of the packaged files; modes do not count.
"""

import hashlib

from blocks.builder.solution import travels
from blocks.errors import PermanentError
from blocks.trees import Tree

SINGLE_FILES = frozenset({"task.toml", "instruction.md", "README.md", "trajectory.json"})
FOLDERS = ("environment/", "tests/", "solution/", "steps/")


class TaskUnpublishableError(PermanentError):
    """A file cannot travel in a Harbor task. Says which and why."""


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
