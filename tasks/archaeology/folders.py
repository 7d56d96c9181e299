"""Folders of a tree that holds several projects: paths as a project's folder sees them, and the folders above a path."""

import posixpath
import re
from collections.abc import Iterator

from blocks.trees import File, Tree

_PLAIN = re.compile(r"^[A-Za-z0-9_.@+][A-Za-z0-9_.@+-]*(/[A-Za-z0-9_.@+][A-Za-z0-9_.@+-]*)*$")


def within(tree: Tree, folder: str) -> Tree:
    """What lies below the folder, by paths relative to it."""
    if folder == ".":
        return tree
    start = f"{folder}/"
    return {path.removeprefix(start): file for path, file in tree.items() if path.startswith(start)}


def seen_from(tree: Tree, folder: str) -> Tree:
    """All of the tree, by paths relative to the folder: what lies outside begins with `../`."""
    return tree if folder == "." else {relative(path, folder): file for path, file in tree.items()}


def relative(path: str, folder: str) -> str:
    """A path of the tree as the folder sees it."""
    return posixpath.relpath(path, folder)


def placed(path: str, folder: str) -> str:
    """A path that the folder sees, as one of the tree: the other way round than `relative`."""
    return posixpath.normpath(posixpath.join(folder, path))


def above(path: str) -> Iterator[str]:
    """The folders that a file lies in, the nearest first and `.` last; those whose names need quoting are left out."""
    folder = posixpath.dirname(path)
    while folder:
        if _PLAIN.match(folder):
            yield folder
        folder = posixpath.dirname(folder)
    yield "."


def text_at(tree: Tree, folder: str, name: str) -> str:
    """A text file of the folder; empty where there is none."""
    file: File | None = tree.get(placed(name, folder))
    return file.content.decode("utf-8-sig", "replace") if file and file.link is None else ""
