"""solution/: what the outcome changed, as files and one idempotent script. No Git, no network, no patch tool."""

import hashlib

from blocks.builder.places import WORKSPACE
from blocks.templates import render
from blocks.trees import File, Tree

LEFT_OUT_SUFFIXES = (".pyc", ".swp", ".swo", "~")
"""What Harbor's packager leaves out where the task has no .gitignore; so are __pycache__ and .DS_Store."""
SPECIAL_NAMES = frozenset({"__pycache__", ".DS_Store", ".harborignore"})


def solution_files(start: Tree, solution: Tree) -> dict[str, File]:
    """Files of solution/: solve.sh and the changed files under files/.

    A file keeps its path, unless its name is one that packagers leave out: then it is stored under its hash.
    """
    removed = sorted(path for path in start if path not in solution)
    changed = {path: file for path, file in sorted(solution.items()) if start.get(path) != file}
    stored: dict[str, File] = {}
    copies: list[tuple[str, str, str]] = []
    links: list[tuple[str, str]] = []
    for path, file in changed.items():
        if file.link is not None:
            links.append((file.link, path))
            continue
        name = f"files/{path}" if travels(path) else f"by-hash/{hashlib.sha256(file.content).hexdigest()}"
        stored[name] = File(content=file.content)
        copies.append((name, path, "755" if file.executable else "644"))
    script = render("solve.sh.j2", workspace=WORKSPACE, removed=removed, copies=copies, links=links)
    return {"solve.sh": File(content=script, executable=True), **stored}


def travels(path: str) -> bool:
    """Whether Harbor's packager takes a file of this name as what it is, and every consumer can write it."""
    parts = path.split("/")
    if SPECIAL_NAMES.intersection(parts) or any(part.endswith(LEFT_OUT_SUFFIXES) for part in parts):
        return False
    return path.isprintable() and path == path.encode(errors="replace").decode()
