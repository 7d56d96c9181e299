"""Grading by JavaScript test tools: the tree is built as the subject, then every suite of the recipe runs.

Before each suite everything goes that a tool would load unasked and that the build, or a suite before, has made.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from . import submission, tree
from .account import Account
from .graded import Graded, endings, lay_plants, silent
from .node_runner import DEPENDENCIES, NodeJob, links_of, run_node
from .planting import script_plant
from .policy import made_by_build
from .spec import GraderSpec, is_plain_path
from .tidy import remove_shared

CACHES = (".cache", ".vite", ".vite-temp", ".vitest")
"""Folders below the dependencies that everybody may write to."""


def grade_node(spec: GraderSpec, tests: Path, account: Account) -> Graded:
    """Build, run, look again; the workspace is prepared already."""
    del tests
    root = Path(spec.workspace)
    held = {path: digest for path in submission.merged_paths(spec) if (digest := tree.digest_below(root, path))}
    _clear_links(root, spec)
    digests, names = lay_plants(spec, account, spec.sentinel_files, script_plant)
    links = frozenset(links_of(spec.build))

    def settle() -> None:
        paths = [path for path, info in tree.entries(root) if not stat.S_ISDIR(info.st_mode)]
        for path in made_by_build(paths, spec):
            if path not in links and path not in spec.base and path not in spec.hidden:
                tree.remove(root / path)
        remove_shared(account)
        _empty_caches(DEPENDENCIES / spec.folder)

    job = NodeJob(
        workspace=root,
        account=account,
        build=spec.build,
        environment=spec.environment,
        folder=spec.folder,
        timeout_sec=spec.timeout_sec,
        before_suite=settle,
    )
    run = run_node(job)
    changed = tuple(submission.changed(spec, {**held, **digests}))
    own = frozenset(name for some in names.values() for name in some)
    told = endings(run.report.results, sorted(own))
    return Graded(run, told, changed, silent_files=silent(names, told), own=own)


def _clear_links(root: Path, spec: GraderSpec) -> None:
    """Where a link into the dependencies is to be nothing is left of the submission, no empty folder either."""
    placed = {*spec.base, *spec.hidden}
    for path in links_of(spec.build):
        is_held = any(one == path or one.startswith(path + "/") for one in placed)
        if is_plain_path(path) and not is_held and tree.is_folder((root / path).parent):
            tree.remove(root / path)


def _empty_caches(project: Path) -> None:
    for name in CACHES:
        folder = project / "node_modules" / name
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for entry in os.listdir(folder):  # noqa: PTH208
                tree.remove(folder / entry)
