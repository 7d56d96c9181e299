"""Which build system a tree is built with, from which folder, with which options and targets."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from blocks.recipe import NativeBuild
from blocks.trees import Tree
from tasks.archaeology.cpp.names import Names
from tasks.archaeology.cpp.text import texts, without_comments

_CMAKE_TESTS = re.compile(
    r"\b(add_test|enable_testing|\w+_discover_tests|gtest_add_tests)\s*\(|include\s*\(\s*CTest", re.I
)
_MESON_TESTS = re.compile(r"^\s*test\s*\(", re.M)
_AUTOMAKE_TESTS = re.compile(r"^\s*(TESTS|check_PROGRAMS|check_SCRIPTS|dist_check_SCRIPTS)\b|^check(-local)?\s*:", re.M)
_OPTION = re.compile(r"\b(?:option|cmake_dependent_option)\s*\(\s*(\w+)\s+\"[^\"]*\"\s*([^)\s]*)", re.I)
_MESON_OPTION = re.compile(r"\boption\s*\(\s*'([^']+)'((?:[^()]|\([^()]*\))*)\)")
_FETCH = re.compile(r"\bFetchContent_Declare\s*\(\s*\"?([\w.+-]+)", re.I)
_EXTERNAL = re.compile(r"\b(?:ExternalProject_Add|CPMAddPackage|CPMFindPackage)\s*\(", re.I)
_TEST_OPTION = re.compile(r"(^|_)(UNIT_?)?TESTS?($|_)|(^|_)(UNIT)?TEST(ING|S)?$|BUILD_?TEST", re.I)
_NO_TEST_OPTION = re.compile(
    r"COVERAGE|BENCH|FUZZ|INSTALL|SANIT|VALGRIND|PYTHON|PERF|STRESS|SLOW|NETWORK|CUDA|MPI|FORMAT|TIDY|INTEGRATION|SYSTEM_"
    r"|PACKAGE|WERROR|DISABLE|SKIP|_NO_|^NO_|MODULE|X11|WAYLAND|EMSCRIPTEN|COMPILE",
    re.I,
)
_RULE = re.compile(r"^((?:[\w./-]+[ \t]+)*[\w./-]+)[ \t]*::?(?!=)", re.M)
_TARGETS = ("test", "check", "tests", "unittest", "unittests", "unit-test", "unit-tests", "run-tests", "run_tests",
            "runtests", "test-all", "run-test", "testrun")  # fmt: skip

_MANIFESTS = {
    "cmake": ("CMakeLists.txt",),
    "meson": ("meson.build",),
    "autotools": ("configure.ac", "configure.in", "configure"),
    "make": ("GNUmakefile", "makefile", "Makefile"),
}


@dataclass(frozen=True)
class Found:
    """A build system in a folder, and whether its files speak of tests."""

    system: str
    folder: str
    has_tests: bool


def choose(tree: Tree, hidden: Sequence[str]) -> Found | None:
    """The system to build with: of those in the root, else of those in a folder that holds hidden tests.

    The first whose files speak of tests counts; where none does, the first but a Makefile, which then says nothing of
    how its tests are run.
    """
    folders = ["."]
    for path in hidden:
        parts = PurePosixPath(path).parts[:-1]
        folders += ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    for folder in dict.fromkeys(folders):
        found = list(_in_folder(tree, folder))
        speaking = [one for one in found if one.has_tests]
        if speaking:
            return speaking[0]
    return next((one for one in _in_folder(tree, ".") if one.system != "make"), None)


def _in_folder(tree: Tree, folder: str) -> Iterator[Found]:
    prefix = "" if folder == "." else f"{folder}/"
    for system, manifests in _MANIFESTS.items():
        if any(prefix + name in tree for name in manifests):
            below = {path.removeprefix(prefix): file for path, file in tree.items() if path.startswith(prefix)}
            yield Found(system, folder, _speaks_of_tests(system, below))


def _speaks_of_tests(system: str, tree: Tree) -> bool:
    if system == "make":
        return bool(make_targets(tree))
    pattern, names = {
        "cmake": (_CMAKE_TESTS, r"^CMakeLists\.txt$|\.cmake$"),
        "meson": (_MESON_TESTS, r"^meson\.build$"),
        "autotools": (_AUTOMAKE_TESTS, r"^Makefile\.(am|in)$|\.am$"),
    }[system]
    return any(pattern.search(without_comments(text)) for _, text in texts(tree, names))


def make_targets(tree: Tree) -> tuple[str, ...]:
    """The target that runs the tests, of the Makefiles in the root; empty where there is none."""
    rules: set[str] = set()
    for path, text in texts(tree, r"^(GNUm|m|M)akefile$|\.mk$"):
        if "/" not in path:
            rules |= {word for match in _RULE.findall(text) for word in match.split()}
    return tuple(target for target in _TARGETS if target in rules)[:1]


def describe(tree: Tree, found: Found, names: Names) -> tuple[NativeBuild, tuple[str, ...]]:
    """How it is built, and the packages that stand in for what the build would clone."""
    prefix = "" if found.folder == "." else f"{found.folder}/"
    below = {path.removeprefix(prefix): file for path, file in tree.items() if path.startswith(prefix)}
    options: tuple[str, ...] = ()
    packages: list[str] = []
    if found.system == "cmake":
        theirs = tuple(f"{path.removeprefix(prefix)}/" for path, _ in _pins(tree) if path.startswith(prefix))
        options, packages = _cmake_options(below, names, theirs)
    elif found.system == "meson":
        options = tuple(_meson_options(below))
    vendored, more = _submodules(tree, names)
    build = NativeBuild(
        system=found.system,
        folder=found.folder,
        options=options,
        targets=make_targets(below) if found.system == "make" else ("check",) if found.system == "autotools" else (),
        vendored=vendored,
    )
    return build, tuple(sorted({*packages, *more}))


def _cmake_options(tree: Tree, names: Names, theirs: tuple[str, ...] = ()) -> tuple[tuple[str, ...], list[str]]:
    """No -DNDEBUG, which would take assert() away; tests on, but not those of submodules (`theirs`, folders with a slash);
    what would be downloaded from the image.
    """
    options = ["-DCMAKE_BUILD_TYPE=Debug", "-DBUILD_TESTING=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=OFF"]
    packages: list[str] = []
    downloads = False
    for path, text in texts(tree, r"^CMakeLists\.txt$|\.cmake$"):
        plain = without_comments(text)
        for name, value in _OPTION.findall(plain):
            if path.startswith(theirs):
                break
            if is_test_option(name) and value.upper() not in ("ON", "TRUE", "1", "YES"):
                options.append(f"-D{name}=ON")
        for name in _FETCH.findall(plain):
            downloads = True
            clone = names.of_clone(name)
            if clone:
                packages += clone.packages
                if clone.source:
                    options.append(f"-DFETCHCONTENT_SOURCE_DIR_{name.upper()}={clone.source}")
        downloads = downloads or bool(_EXTERNAL.search(plain))
    if downloads:
        options += ["-DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=ALWAYS", "-DCPM_USE_LOCAL_PACKAGES=ON"]
    return tuple(dict.fromkeys(options)), packages


def is_test_option(name: str) -> bool:
    """Whether an option of this name turns the project's own tests on."""
    return bool(_TEST_OPTION.search(name)) and not _NO_TEST_OPTION.search(name)


def _meson_options(tree: Tree) -> Iterator[str]:
    for path, text in texts(tree, r"^meson(_options\.txt|\.options)$"):
        if "/" in path:
            continue
        for name, rest in _MESON_OPTION.findall(without_comments(text)):
            if is_test_option(name.replace("-", "_")):
                kind = re.search(r"\btype\s*:\s*'(\w+)'", rest)
                if kind and kind[1] in ("boolean", "feature"):
                    yield f"-D{name}={'true' if kind[1] == 'boolean' else 'enabled'}"


def _submodules(tree: Tree, names: Names) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """Submodules that are not there, with the folder of the package that stands in for each (empty: none does), and the
    packages.
    """
    vendored: list[tuple[str, str]] = []
    packages: list[str] = []
    for path, url in _pins(tree):
        if any(name.startswith(f"{path}/") for name in tree):
            continue
        clone = names.of_clone(url.rstrip("/").rpartition("/")[2]) if url else None
        vendored.append((path, clone.source or "" if clone else ""))
        packages += clone.packages if clone else ()
    return tuple(vendored), packages


def _pins(tree: Tree) -> Iterator[tuple[str, str | None]]:
    """Path and address of the submodules that the tree's `.gitmodules` names."""
    file = tree.get(".gitmodules")
    if file is None:
        return
    for section in re.split(r"(?m)^\s*\[submodule", file.content.decode("utf-8", "replace"))[1:]:
        path, url = (re.search(rf"(?m)^\s*{key}\s*=\s*(\S+)", section) for key in ("path", "url"))
        if path and ".." not in path[1].split("/") and not path[1].startswith("/"):
            yield path[1].rstrip("/"), url[1] if url else None
