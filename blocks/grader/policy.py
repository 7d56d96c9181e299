"""Which paths of a submission it may not decide about. Names only: nothing here touches a file system.

A protected path is restored from the base copy where base has it, and removed where base has not. Synthesis calls
`protected_paths` on the start tree to learn what to ship as tests/base; grading calls it on the submission.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from .policy_names import AFTER_BUILD, ALWAYS, MANIFESTS
from .stdlib_names import RUNNER_NAMES, STDLIB_NAMES

if TYPE_CHECKING:
    from .spec import GraderSpec

NEVER_KEPT = ("__pycache__", "__pycache__/**", "*.pyc", "*.pyo", ".pytest_cache", ".pytest_cache/**")
"""Caches: removed even where the path is open, unless base has the very path."""

_MODULE = re.compile(r"^([^.]+)(\.[^/]+)?\.(py|pyc|pyd|so)$")


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a glob matches the path.

    `*` and `?` stay within one part, `**` spans parts. A pattern without a `/`, or one that ends in `/**` and has no
    other `/`, matches at any depth; every other pattern is anchored at the workspace, and a leading `/` always anchors.
    A pattern that matches a folder does not match what is in it: write `folder/**`. Nothing else is special.
    """
    return any(_compiled(pattern).match(path) for pattern in patterns)


def protected_paths(paths: Iterable[str], spec: GraderSpec) -> set[str]:
    """Of the paths of a tree (files and links), those the submission may not decide about."""
    tree = set(paths)
    if spec.runner != "pytest":
        return {path for path in tree if _is_protected(path, spec)}
    roots = import_roots(tree, spec)
    return {path for path in tree if _is_protected(path, spec) or _shadows(path, tree, roots, set(spec.own_modules))}


def made_by_build(paths: Iterable[str], spec: GraderSpec) -> set[str]:
    """Of the paths of a tree, those that no build may have made: what a test tool would load unasked."""
    return {path for path in paths if matches(path.lower(), AFTER_BUILD[spec.runner])}


def is_manifest(path: str, runner: str) -> bool:
    """Whether a path is build or runner configuration, which an outcome may change so that its tests can run."""
    return matches(path.lower(), MANIFESTS[runner])


def own_modules(paths: Iterable[str], *, source_roots: Iterable[str], test_files: Iterable[str]) -> tuple[str, ...]:
    """Top-level names of the start tree that would count as shadows: the `own_modules` of its spec, sorted."""
    tree = set(paths)
    roots = _roots(tree, source_roots, test_files)
    return tuple(sorted({name for path in tree for name in _shadow_names(path, tree, roots)}))


def import_roots(tree: set[str], spec: GraderSpec) -> set[str]:
    """Folders that get onto sys.path: the source roots, and for each test file the first folder above it that is not a
    package (pytest's `prepend`). The workspace itself is the empty text.
    """
    return _roots(tree, spec.source_roots, spec.test_files)


def _roots(tree: set[str], source_roots: Iterable[str], test_files: Iterable[str]) -> set[str]:
    roots = {"" if root == "." else root.rstrip("/") for root in source_roots}
    for path in test_files:
        folder = _parent(path)
        while folder and folder + "/__init__.py" in tree:
            folder = _parent(folder)
        roots.add(folder)
    return roots


def _is_protected(path: str, spec: GraderSpec) -> bool:
    if matches(path, NEVER_KEPT):
        return True
    if matches(path, spec.open_paths):
        return False
    return matches(path.lower(), ALWAYS[spec.runner]) or matches(path, spec.protected_patterns)


def _shadows(path: str, tree: set[str], roots: set[str], own: set[str]) -> bool:
    return any(name not in own for name in _shadow_names(path, tree, roots))


def _shadow_names(path: str, tree: set[str], roots: set[str]) -> list[str]:
    """Forbidden top-level names that `path` provides, or is part of, under one of the roots."""
    names = []
    for root in roots:
        prefix = root + "/" if root else ""
        if not path.startswith(prefix):
            continue
        first, _, rest = path[len(prefix) :].partition("/")
        module = _MODULE.match(first)
        if rest and any(f"{prefix}{first}/__init__{suffix}" in tree for suffix in (".py", ".pyc", ".so")):
            name = first
        elif not rest and module:
            name = module.group(1)
        elif not rest:
            name = first  # a link that stands in for a package
        else:
            continue
        if name in STDLIB_NAMES or name in RUNNER_NAMES:
            names.append(name)
    return names


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = "/" in (pattern[:-3] if pattern.endswith("/**") else pattern)
    pattern = pattern.lstrip("/")
    out = "" if anchored else "(?:.*/)?"
    position = 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            out, position = out + "(?:.*/)?", position + 3
        elif pattern.startswith("**", position):
            out, position = out + ".*", position + 2
        elif pattern[position] == "*":
            out, position = out + "[^/]*", position + 1
        elif pattern[position] == "?":
            out, position = out + "[^/]", position + 1
        else:
            out, position = out + re.escape(pattern[position]), position + 1
    return re.compile(out + r"\Z", re.DOTALL)
