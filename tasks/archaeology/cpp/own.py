"""The project's own releases, as Debian carries them: one that is later than the outcome would be the solution."""

import re
from collections.abc import Collection, Iterable

from blocks.trees import Tree
from tasks.archaeology.cpp.text import texts, without_comments

_CMAKE = re.compile(r"\bproject\s*\(\s*\"?([A-Za-z][\w.+-]*)", re.I)
_MESON = re.compile(r"\bproject\s*\(\s*'([^']+)'")
_AUTOCONF = re.compile(r"\bAC_INIT\s*\(\s*\[?\s*([A-Za-z][\w.+-]*)")
_MANIFESTS = (
    (r"^CMakeLists\.txt$", _CMAKE),
    (r"^meson\.build$", _MESON),
    (r"^configure\.(ac|in)$", _AUTOCONF),
)
_TAIL = re.compile(
    r"(-(dev|bin|tools?|utils?|doc|data|common|headers?|source|static|dbg|examples?)|[-.]?\d[\d.]*[a-z]?)$"
)
_COMMON = frozenset({"test", "tests", "main", "project", "app", "example", "lib", "library", "src", "hello", "demo"})


def own_names(tree: Tree) -> tuple[str, ...]:
    """What the build files in the root call the project, as Debian would begin a package's name."""
    found: dict[str, None] = {}
    for pattern, project in _MANIFESTS:
        for path, text in texts(tree, pattern):
            if "/" not in path:
                found |= dict.fromkeys(_plain(name) for name in project.findall(without_comments(text)))
    return tuple(name for name in found if len(name) > 1 and name not in _COMMON)


def is_own(package: str, own: Collection[str]) -> bool:
    """Whether a Debian package is a release of one of these projects: `libfmt-dev`, `libfmt9` and `fmt` are of fmt."""
    name = _plain(package.partition("=")[0])
    while name not in own:
        shorter = _TAIL.sub("", name)
        if shorter == name:
            return False
        name = shorter
    return True


def without_own(packages: Iterable[str], own: Collection[str]) -> tuple[str, ...]:
    """The packages that are none of the project's releases."""
    return tuple(package for package in packages if not is_own(package, own))


def _plain(name: str) -> str:
    plain = name.lower().replace("_", "-")
    return plain.removeprefix("lib") or plain
