"""The two states of a candidate as trees: the start as the user had it, the solution, and S1 (start + outcome's tests).

The outcome is one commit. Commits that landed between the start and it are not part of the solution: the outcome's own
change is carried onto the start tree, file by file, by a three-way merge; where that conflicts, the whole end tree is
the solution, and an obstacle says so.
"""

import subprocess
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Record
from blocks.trees import File, Tree, misplaced, overlay

Change = Mapping[str, File | None]


class MergeConflictError(Exception):
    """The outcome's change of this path does not apply to the start tree."""


class States(Record):
    """Trees of one candidate. `hidden` are the outcome's test files as they are to lie in the workspace."""

    start: dict[str, File]
    solution: dict[str, File]
    hidden: dict[str, File]
    removed_tests: tuple[str, ...]
    """Test files the outcome deletes: they are absent while the hidden tests run."""
    carried: bool
    """True: the outcome's change was carried onto the start; False: the whole end tree is the solution."""

    def with_tests(self, tree: Tree) -> dict[str, File]:
        """A state with the outcome's test files in place."""
        return overlay(tree, {**self.hidden, **dict.fromkeys(self.removed_tests)})


def changed(before: Tree, after: Tree) -> dict[str, File | None]:
    """Paths whose file differs, with the file after (None where it is gone)."""
    paths = before.keys() | after.keys()
    return {path: after.get(path) for path in sorted(paths) if before.get(path) != after.get(path)}


def build_states(start: Tree, parent: Tree, end: Tree, submodules: Collection[str] = ()) -> States:
    """Make the states from the start's tree, the outcome's first parent's and the outcome's.

    Args:
        start: as the user had it.
        parent: of the outcome's first parent.
        end: of the outcome.
        submodules: folders of another repository's files. Where the outcome moves a pin, the difference of both is part of
            the solution; of the hidden tests only below a test folder.
    """
    carried = True
    try:
        solution = overlay(start, carry(start, parent, changed(parent, end)))
        if clash := misplaced(solution):
            raise MergeConflictError(min(clash))
    except MergeConflictError:
        carried, solution = False, dict(end)
    difference = changed(start, solution)
    tests = {path: file for path, file in difference.items() if kind_of(path, submodules) is PathKind.TEST}
    return States(
        start=dict(start),
        solution=solution,
        hidden={path: file for path, file in tests.items() if file is not None},
        removed_tests=tuple(path for path, file in tests.items() if file is None),
        carried=carried,
    )


def carry(start: Tree, parent: Tree, change: Change) -> dict[str, File | None]:
    """The change parent -> end, as a change of the start tree.

    Raises:
        MergeConflictError: a file changed in both ways at the same place, or is gone in the start.
    """
    result: dict[str, File | None] = {}
    for path, after in change.items():
        ours, base = start.get(path), parent.get(path)
        if ours == base:
            result[path] = after
        elif ours == after:
            continue
        elif after is None or ours is None or base is None:
            raise MergeConflictError(path)
        else:
            links = (ours.link, base.link, after.link)
            merged = merge_file(base.content, ours.content, after.content) if links == (None, None, None) else None
            if merged is None:
                raise MergeConflictError(path)
            mode = after.executable if ours.executable == base.executable else ours.executable
            result[path] = File(content=merged, executable=mode)
    return result


def merge_file(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Three-way merge of one file's contents (`git merge-file`); None where it conflicts or is binary."""
    with tempfile.TemporaryDirectory(prefix="envmill-merge-") as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, content in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(content)
        done = subprocess.run(
            ["git", "merge-file", "-p", "--quiet", *map(str, paths)],
            cwd=folder,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"},
            capture_output=True,
            timeout=60,
            check=False,
        )
    return done.stdout if done.returncode == 0 else None
