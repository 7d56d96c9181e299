"""Which Debian packages a tree asks for: by its build files, its headers and the apt lines of its CI files."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from blocks.path_kinds import PathKind, kind_of
from blocks.trees import Tree
from tasks.archaeology.cpp.text import CODE, texts, without_comments

TABLE = Path(__file__).resolve().parents[3] / "data" / "native_packages.toml"

_FIND_PACKAGE = re.compile(r"\bfind_(?:package|dependency)\s*\(\s*([\w.+-]+)", re.I)
_PKG_MODULES = re.compile(r"\bpkg_(?:check|search)_modules?\s*\(\s*\S+\s+([^)]*)\)", re.I)
_MESON = re.compile(r"\bdependency\s*\(\s*'([^']+)'")
_AC_PKG = re.compile(r"\bPKG_CHECK_(?:MODULES|EXISTS)\s*\(\s*(?:\[?\w+\]?\s*,)?\s*\[?([^\],)]*)")
_AC_LIB = re.compile(r"\bAC_(?:CHECK_LIB|SEARCH_LIBS\s*\(\s*\[?\w+\]?\s*,)\s*\(?\s*\[?([\w +.-]*)")
_PKG_CONFIG = re.compile(r"\bpkg-config\b([^`$)\n]*)")
_LINKED = re.compile(r"(?<![\w-])-l([\w+.-]+)")
_PROGRAM = re.compile(r"\bfind_program\s*\(([^)]*)\)", re.I)
_STRING = re.compile(r'"([A-Za-z][\w-]*)[ "]')
_INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.M)
_APT = re.compile(r"\b(?:apt|apt-get|aptitude)(?:\s+-\S+)*\s+install\b((?:[^\n\\]|\\\r?\n)*)")
_VARIABLE = re.compile(r"\$\{\{[^}]*\}\}|\$\{?\w+\}?")
_APT_ENDS = re.compile(r"&&|\|\||[;|#>`'\")]")
_PACKAGE = re.compile(r"^[a-z0-9][a-z0-9+.-]+$")
_CI = re.compile(
    r"^(\.github/workflows/|\.circleci/|\.devcontainer/|\.gitlab-ci|\.travis\.yml|azure-pipelines|\.cirrus|appveyor|ci/|\.ci/|scripts/ci)"
)
_TEXTS_WITH_APT = r"(?i)(\.ya?ml$|dockerfile|containerfile|^readme|^install|^building|\.sh$)"


@dataclass(frozen=True)
class Clone:
    """What stands in for something that a build would clone."""

    packages: tuple[str, ...]
    source: str | None


class Names:
    """The table of names (data/native_packages.toml)."""

    def __init__(self, path: Path = TABLE) -> None:
        self._path = path

    @cached_property
    def _table(self) -> dict[str, Any]:
        return tomllib.loads(self._path.read_text(encoding="utf-8"))

    @cached_property
    def _ignored(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{pattern})" for pattern in self._table["ignore"]["patterns"]))

    def of_cmake(self, name: str) -> tuple[str, ...]:
        """Packages of a name that find_package is asked for."""
        return self._look(name, ("cmake", "pkg_config"))

    def of_module(self, name: str) -> tuple[str, ...]:
        """Packages of a module of pkg-config, or of a library."""
        return self._look(name, ("pkg_config", "cmake")) or self._look(f"lib{name}", ("pkg_config", "cmake"))

    def of_header(self, header: str) -> tuple[str, ...]:
        """Packages of a header that is in no tree."""
        fits = [key for key in self._table["header"] if header.startswith(key)]
        return tuple(self._table["header"][max(fits, key=len)]) if fits else ()

    def of_tool(self, name: str) -> tuple[str, ...]:
        """Packages of a program that tests start."""
        return self._look(name, ("tool",))

    def of_clone(self, name: str) -> Clone | None:
        """What stands in for a repository of this name."""
        found = self._table["clone"].get(name.lower().removesuffix(".git"))
        return Clone(tuple(found["packages"]), found.get("source")) if found else None

    def of_apt(self, name: str) -> tuple[str, ...]:
        """Debian's names of a package that an apt line names; none where a build has no use for it."""
        if self._ignored.match(name):
            return ()
        return tuple(self._table["rename"].get(name, (name,)))

    def _look(self, name: str, sections: Iterable[str]) -> tuple[str, ...]:
        for section in sections:
            values: Mapping[str, list[str]] = self._table[section]
            if name.lower() in values:
                return tuple(values[name.lower()])
        return ()


def asked_packages(tree: Tree, names: Names) -> tuple[str, ...]:
    """Every package the tree asks for, sorted."""
    ways = (_by_build_files, _by_headers, _by_tools, _by_apt_lines)
    return tuple(sorted({package for way in ways for package in way(tree, names)}))


def _by_build_files(tree: Tree, names: Names) -> Iterator[str]:
    for _, text in texts(tree, r"^CMakeLists\.txt$|\.cmake(\.in)?$"):
        plain = without_comments(text)
        for name in _FIND_PACKAGE.findall(plain):
            yield from names.of_cmake(name)
        for words in _PKG_MODULES.findall(plain):
            yield from _modules(words, names)
    for _, text in texts(tree, r"^meson\.build$"):
        for name in _MESON.findall(without_comments(text)):
            yield from names.of_module(name)
    for _, text in texts(tree, r"^configure\.(ac|in)$|\.m4$"):
        for words in (*_AC_PKG.findall(text), *_AC_LIB.findall(text)):
            yield from _modules(words, names)
    for _, text in texts(tree, r"^(GNUm|m|M)akefile(\.\w+)?$|\.mk$"):
        plain = without_comments(text)
        for words in _PKG_CONFIG.findall(plain):
            yield from _modules(words, names)
        for name in _LINKED.findall(plain):
            yield from names.of_module(name)


def _modules(words: str, names: Names) -> Iterator[str]:
    for word in re.findall(r"[\w.+-]+", words):
        yield from names.of_module(word)


def _by_headers(tree: Tree, names: Names) -> Iterator[str]:
    own = {"/" + path for path in tree}
    for _, text in texts(tree, CODE.pattern):
        for header in _INCLUDE.findall(text):
            packages = names.of_header(header)
            if packages and not any(path.endswith(f"/{header}") for path in own):
                yield from packages


def _by_tools(tree: Tree, names: Names) -> Iterator[str]:
    for _, text in texts(tree, r"^CMakeLists\.txt$|\.cmake$|^meson\.build$"):
        for words in _PROGRAM.findall(without_comments(text)):
            for word in re.findall(r"[\w-]+", words):
                yield from names.of_tool(word)
    for path, text in texts(tree, CODE.pattern):
        if kind_of(path) is PathKind.TEST:
            for word in _STRING.findall(text):
                yield from names.of_tool(word)


def _by_apt_lines(tree: Tree, names: Names) -> Iterator[str]:
    for path, text in texts(tree, _TEXTS_WITH_APT, foreign=True):
        if "/" in path and not _CI.match(path):
            continue
        for line in _APT.findall(text):
            words = _APT_ENDS.split(_VARIABLE.sub("$", line.replace("\\", " ")))[0].split()
            for word in words:
                if _PACKAGE.match(word):
                    yield from names.of_apt(word)
