"""Where packages of others lie in an image, and which of their files a person wrote."""

import re

_PACKAGES = re.compile(r"(?:^|/)(?:site-packages|dist-packages|node_modules)/")
_HEADERS = re.compile(r"^usr/(local/)?include/")
_SOURCE = re.compile(r"\.(py|pyi|js|mjs|cjs|jsx|ts|mts|cts|tsx|c|cc|cpp|cxx|h|hh|hpp)$")
_LINE_BYTES = 120
"""Longer lines than this on average were not written by hand."""
_BLANK_SHARE = 0.07
"""Of text written by hand more than this is white space; minified code has half of it, however it is wrapped."""


def below_packages(path: str) -> str | None:
    """The path below the innermost folder of packages, or None where it is in none."""
    found = None
    for found in _PACKAGES.finditer(path):  # noqa: B007
        pass
    return path[found.end() :] if found else None


def is_package_source(path: str) -> bool:
    """Whether a path is that of a source file or header of a package; what lies in archives is none."""
    return "!" not in path and bool(_SOURCE.search(path) and (_PACKAGES.search(path) or _HEADERS.search(path)))


def is_made(content: bytes) -> bool:
    """Whether a machine wrote it: compiled, minified, packed."""
    if b"\0" in content[:8192]:
        return True
    size, lines = len(content), content.count(b"\n")
    return size > _LINE_BYTES * (lines + 1) or content.count(b" ") + content.count(b"\t") + lines < _BLANK_SHARE * size
