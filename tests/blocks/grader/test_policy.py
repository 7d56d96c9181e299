from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.grader.policy import is_manifest, made_by_build, matches, own_modules, protected_paths
from blocks.grader.spec import GraderSpec

SPEC = GraderSpec(fail_to_pass=("tests/test_a.py::test_a",), pass_to_pass=(), test_files=("tests/test_a.py",))


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("conftest.py", "conftest.py", True),
        ("a/b/conftest.py", "conftest.py", True),
        ("a/b/conftest.py", "/conftest.py", False),
        ("a/xconftest.py", "conftest.py", False),
        ("a/tests/deep/x", "tests/**", True),
        ("a/tests/deep/x", "/tests/**", False),
        ("tests", "tests/**", False),
        ("docs/a/b.txt", "docs/*.txt", False),
        ("docs/b.txt", "docs/*.txt", True),
        ("docs/a/b/c.txt", "docs/**/*.txt", True),
        ("docs/c.txt", "docs/**/*.txt", True),
        ("a[1].py", "a[1].py", True),
        ("a1.py", "a?.py", True),
        ("a\n.pth", "*.pth", True),
    ],
)
def test_globs(path: str, pattern: str, expected: bool) -> None:
    assert matches(path, [pattern]) is expected


@given(st.text(alphabet="ab/.*?[", min_size=1), st.text(alphabet="ab/.", min_size=1))
def test_a_glob_never_raises_and_a_plain_path_matches_itself(pattern: str, path: str) -> None:
    matches(path, [pattern])
    assert matches(path.lstrip("/") or "a", ["/" + (path.lstrip("/") or "a")])


@pytest.mark.parametrize(
    "path",
    [
        "a/b/conftest.py",
        "ConfTest.py",
        "pytest.ini",
        "tox.ini",
        "pyproject.toml",
        "src/x.pth",
        "x.dist-info",
        "src/x.egg-info/entry_points.txt",
        "sitecustomize.py",
        "a/__pycache__/x.cpython-311.pyc",
        ".pytest_cache/v",
        "pytest.py",
        "src/json/__init__.py",
        "src/random.cpython-311-x86_64-linux-gnu.so",
        "tests/unittest.py",
        "_pytest",
    ],
)
def test_always_protected(path: str) -> None:
    tree = {path, "src/json/__init__.py", "tests/test_a.py"}
    assert path in protected_paths(tree, SPEC)


@pytest.mark.parametrize(
    "path", ["src/pkg/json.py", "src/pkg/types/__init__.py", "test/data.txt", "docs/code/x.py", "x.py"]
)
def test_what_a_submission_may_bring(path: str) -> None:
    assert protected_paths({path, "src/pkg/__init__.py", "tests/test_a.py"}, SPEC) == set()


def test_open_paths_open_everything_but_caches() -> None:
    tree = {"pyproject.toml", "setup.cfg", "tests/data.txt", "x.pyc"}
    spec = replace(SPEC, open_paths=("/pyproject.toml", "*.pyc"), protected_patterns=("/tests/**",))
    assert protected_paths(tree, spec) == {"setup.cfg", "tests/data.txt", "x.pyc"}


def test_the_start_trees_own_shadows_stay_open() -> None:
    base = {"src/attr/__init__.py", "src/attr/core.py", "queue.py", "tests/pkg/__init__.py", "tests/pkg/test_a.py"}
    names = own_modules(base, source_roots=SPEC.source_roots, test_files=["tests/pkg/test_a.py"])
    assert names == ("attr", "queue")
    spec = replace(SPEC, own_modules=names)
    assert protected_paths(base | {"src/attr/new.py", "json.py"}, spec) == {"json.py"}


NODE = replace(SPEC, runner="node", build={"suites": []})
NATIVE = replace(SPEC, runner="native", build={"system": "make"})


@pytest.mark.parametrize(
    "path",
    [
        "node_modules",
        "node_modules/jest/package.json",
        "packages/a/node_modules/x.js",
        "jest.config.ts",
        "Vitest.Config.mts",
        "vitest.config.unit.ts",
        "vite.config.js",
        "packages/a/.mocharc.yml",
        "babel.config.cjs",
        ".babelrc",
        "tsconfig.build.json",
        "a.tsbuildinfo",
        "bunfig.toml",
        ".npmrc",
        "__mocks__/fs.js",
        "src/a.test.ts",
        "src/a.spec.mjs",
        "test/helper.js",
        "x/__snapshots__/a.snap",
    ],
)
def test_always_protected_of_javascript(path: str) -> None:
    assert protected_paths({path}, NODE) == {path}


@pytest.mark.parametrize("path", ["src/index.ts", "conftest.py", "dist/package.json", "src/latest.ts", "contest/a.js"])
def test_what_a_javascript_submission_may_bring(path: str) -> None:
    assert protected_paths({path}, NODE) == set()


@pytest.mark.parametrize(
    "path",
    [
        "CMakeLists.txt",
        "src/CMakeLists.txt",
        "cmake/Find.cmake",
        "GNUmakefile",
        "Makefile.in",
        "meson.build",
        "configure",
        "rules.mk",
        "src/gtest/gtest.h",
        "include/assert.h",
        "doctest.h",
        "tests/test_a",
        "test_a.trs",
        "src/a.o",
        "lib/libx.so.1",
        "CMakeFiles/x",
        "build/CTestTestfile.cmake",
    ],
)
def test_always_protected_of_c(path: str) -> None:
    assert protected_paths({path}, NATIVE) == {path}


def test_what_a_build_may_make() -> None:
    made = {"dist/test/a.test.js", "dist/package.json", "x.tsbuildinfo", "jest.config.js", "lib/node_modules/jest/x.js"}
    assert made_by_build(made, NODE) == {"jest.config.js", "lib/node_modules/jest/x.js"}
    assert made_by_build({"CMakeLists.txt"}, NATIVE) == set()


def test_what_an_outcome_may_have_to_change() -> None:
    assert is_manifest("a/CMakeLists.txt", "native") and is_manifest("tsconfig.json", "node")
    assert not is_manifest("node_modules/x", "node") and not is_manifest("src/a.test.ts", "node")
    assert not is_manifest("gtest/gtest.h", "native")
