"""What each runner reads unasked, by name: paths that no submission decides about. See policy.matches for the globs.

All in lower case: a path is compared in lower case. Folders stand here by their bare names too: a link may stand in for
one.
"""

from __future__ import annotations

_PYTEST = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    "sitecustomize.py",
    "usercustomize.py",
    "sitecustomize",
    "sitecustomize/**",
    "usercustomize",
    "usercustomize/**",
    "*.pth",
    "*.egg-link",
    "*.egg-info",
    "*.egg-info/**",
    "*.dist-info",
    "*.dist-info/**",
)
"""Runner configuration and what Python or pytest loads unasked."""

_NODE_RUNNERS = (
    "node_modules",
    "node_modules/**",
    "jest.config.*",
    "jest.*.config.*",
    "jest-*.config.*",
    "jest.config-*.*",
    "jest.setup.*",
    "jest.preset.*",
    "jest-preset.*",
    "setuptests.*",
    "vitest.config.*",
    "vitest.*.config.*",
    "vitest.config.*.*",
    "vitest.workspace.*",
    "vitest.projects.*",
    "vitest.setup.*",
    "vite.config.*",
    ".mocharc",
    ".mocharc.*",
    "mocha.opts",
    "ava.config.*",
    ".babelrc",
    ".babelrc.*",
    "babel.config.*",
    ".swcrc",
    "bunfig.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.*",
    ".pnpmfile.*",
    "pnpm-workspace.yaml",
    ".nycrc",
    ".nycrc.*",
    ".c8rc",
    ".c8rc.*",
    ".taprc",
)
"""Where tools come from, their configuration, and what they load before the tests."""

_NODE_BUILDS = ("tsconfig.json", "tsconfig.*.json", "tsconfig-*.json", "jsconfig.json", "*.tsbuildinfo")

_TEST_FOLDERS = ("test", "tests", "testing", "unit_tests", "unittests", "testsuite", "test-d")
_SCRIPT_FOLDERS = ("__tests__", "__mocks__", "__snapshots__", "__fixtures__")
_SCRIPT_TESTS = ("*.test.?s", "*.spec.?s", "*.test.?sx", "*.spec.?sx", "*.test.??s", "*.spec.??s", "*.snap")

_NATIVE_BUILDS = (
    "cmakelists.txt",
    "*.cmake",
    "cmakepresets.json",
    "cmakeuserpresets.json",
    "meson.build",
    "meson.options",
    "meson_options.txt",
    "*.wrap",
    "configure",
    "configure.ac",
    "configure.in",
    "autogen.sh",
    "bootstrap",
    "bootstrap.sh",
    "aclocal.m4",
    "makefile",
    "makefile.*",
    "gnumakefile",
    "*.mk",
    "*.am",
    "*.mak",
    "ltmain.sh",
    "test-driver",
    "depcomp",
    "missing",
    "install-sh",
)
"""Which programs are tests is written there, and how they are made."""

_NATIVE_PRODUCTS = (
    "*.o",
    "*.obj",
    "*.lo",
    "*.la",
    "*.a",
    "*.so",
    "*.so.*",
    "*.gch",
    "*.pch",
    "*.trs",
    "cmakecache.txt",
    "cmakefiles",
    "cmakefiles/**",
    "_deps/**",
    "ctesttestfile.cmake",
    "config.status",
    "config.cache",
    "build.ninja",
    ".ninja_deps",
    ".ninja_log",
    "meson-private/**",
    ".libs",
    ".libs/**",
)
"""What an earlier build leaves, and would be taken for this one's."""

_HEADERS = (
    "gtest",
    "gtest/**",
    "gmock",
    "gmock/**",
    "catch2",
    "catch2/**",
    "catch.hpp",
    "catch_amalgamated.?pp",
    "doctest",
    "doctest/**",
    "doctest.h",
    "assert.h",
    "cassert",
    "stdio.h",
    "cstdio",
    "stdlib.h",
    "cstdlib",
    "string.h",
    "cstring",
    "iostream",
)
"""Names under which a test finds its framework, or what it says its end with; an include folder may come first."""


def _folders(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(pattern for name in names for pattern in (name, f"{name}/**"))


ALWAYS = {
    "pytest": _PYTEST,
    "node": (
        *_NODE_RUNNERS,
        *_NODE_BUILDS,
        *_SCRIPT_TESTS,
        *_folders(_TEST_FOLDERS),
        *_folders(_SCRIPT_FOLDERS),
    ),
    "native": (*_NATIVE_BUILDS, *_NATIVE_PRODUCTS, *_HEADERS, *_folders(_TEST_FOLDERS)),
}
"""By runner, at any depth: restored where base has it, removed where it has not."""

AFTER_BUILD = {"pytest": (), "node": _NODE_RUNNERS, "native": ()}
"""By runner: what the build, which runs as the subject, may not have made. (Compiled tests it may.)"""

MANIFESTS = {"pytest": (), "node": ("package.json", *_NODE_RUNNERS[2:], *_NODE_BUILDS), "native": _NATIVE_BUILDS}
"""By runner: configuration that an outcome may have to change so that its tests can run."""
