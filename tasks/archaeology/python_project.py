"""Which folder is the Python project that a test belongs to, by the manifests above it."""

import configparser
import re
import tomllib

from blocks.trees import Tree
from tasks.archaeology.folders import above, placed, text_at

_REQUIREMENTS = re.compile(
    r"^(requirements/|requirements[-_./])?([\w-]*[-_.])?(requirements|tests?|testing|dev|develop|ci)([-_.][\w-]+)?\.(txt|in)$"
)
_NO_PROJECT = re.compile(r"^(tests?|testing|docs?|examples?|scripts?|ci|\..*|requirements)$")
_PROJECT_TABLES = ("project", "build-system")


def python_home(path: str, tree: Tree) -> str | None:
    """The nearest folder upwards that names a project; else the nearest that says what is needed; None where none does.

    A folder of tests or documentation with a list of requirements is no project of its own.
    """
    folders = list(above(path))
    for folder in folders:
        if names_a_project(tree, folder):
            return folder
    return next((folder for folder in folders if not _is_beside(folder) and has_manifest(tree, folder)), None)


def names_a_project(tree: Tree, folder: str) -> bool:
    """Whether something can be installed from there: setup.py, or what a build backend reads."""
    if placed("setup.py", folder) in tree:
        return True
    parser = configparser.RawConfigParser(strict=False)
    try:
        document = tomllib.loads(text_at(tree, folder, "pyproject.toml"))
        parser.read_string(text_at(tree, folder, "setup.cfg"))
    except (ValueError, RecursionError, configparser.Error):
        return placed("pyproject.toml", folder) in tree
    tool = document.get("tool")
    is_poetry = isinstance(tool, dict) and "poetry" in tool
    return is_poetry or parser.has_section("metadata") or any(name in document for name in _PROJECT_TABLES)


def has_manifest(tree: Tree, folder: str) -> bool:
    """Whether the folder says in any way what its Python code needs."""
    names = ("pyproject.toml", "setup.cfg", "setup.py")
    if any(placed(name, folder) in tree for name in names):
        return True
    start = "" if folder == "." else f"{folder}/"
    return any(path.startswith(start) and _REQUIREMENTS.match(path[len(start) :]) for path in tree)


def _is_beside(folder: str) -> bool:
    return folder != "." and bool(_NO_PROJECT.match(folder.rpartition("/")[2].lower()))
