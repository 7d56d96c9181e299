"""Which Debian release C and C++ is built on: the newest of its day, or the one whose tools the tree needs."""

import re
from datetime import UTC, datetime

from blocks.trees import Tree
from tasks.archaeology.cpp.text import CODE, texts, without_comments

OLDER, NEWER = "bookworm", "trixie"
NEWER_SINCE = datetime(2025, 8, 9, tzinfo=UTC)
"""The day trixie was released."""

_OLDER_CMAKE, _OLDER_MESON = (3, 25), (1, 0)
_CMAKE = re.compile(r"\bcmake_minimum_required\s*\(\s*VERSION\s+(\d+)\.(\d+)", re.I)
_MESON = re.compile(r"\bmeson_version\s*:\s*'>=?\s*(\d+)\.(\d+)")
_CATCH_3 = re.compile(r"#\s*include\s*<catch2/(catch_test_macros|catch_all|catch_session)\.hpp>")


def release_for(tree: Tree, as_of: datetime) -> str:
    """The release's name. Only what the tree says of CMake, Meson and Catch2 is asked; compilers go with the date."""
    if as_of >= NEWER_SINCE or _needs_newer(tree):
        return NEWER
    return OLDER


def _needs_newer(tree: Tree) -> bool:
    for _, text in texts(tree, r"^CMakeLists\.txt$"):
        if any((int(one), int(two)) > _OLDER_CMAKE for one, two in _CMAKE.findall(without_comments(text))):
            return True
    for _, text in texts(tree, r"^meson\.build$"):
        if any((int(one), int(two)) > _OLDER_MESON for one, two in _MESON.findall(without_comments(text))):
            return True
    return any(_CATCH_3.search(text) for _, text in texts(tree, CODE.pattern))
