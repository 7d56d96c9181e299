"""What is read from a tree without running anything of it."""

from datetime import UTC, datetime

import pytest

from blocks.recipe import NativeBuild, Recipe
from tasks.archaeology.cpp.names import Names, asked_packages
from tasks.archaeology.cpp.own import is_own, own_names, without_own
from tasks.archaeology.cpp.release import release_for
from tasks.archaeology.cpp.stack import CppPlanned, CppStack
from tasks.archaeology.cpp.systems import choose, describe, is_test_option, make_targets
from tasks.archaeology.remedies import Evidence, find_fixes, read_remedies
from tasks.archaeology.stack import Facts, NoPlan
from tests.trees import tree

THEN = datetime(2024, 3, 1, tzinfo=UTC)
CI = """\
jobs:
  build:
    steps:
      - run: sudo apt-get update && sudo apt-get install -y --no-install-recommends ninja-build libssl-dev \\
          libfoo1-dev git clang-15 lib-${{ matrix.arch }} $MORE && echo curl-dev
      - run: |
          apt install libncurses5-dev # libcomment-dev
"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"CMakeLists.txt": "find_package(ZLIB REQUIRED)\n# find_package(Boost)\n"}, {"zlib1g-dev"}),
        ({"CMakeLists.txt": "pkg_check_modules(X REQUIRED glib-2.0 libcurl>=7)"}, {"libglib2.0-dev", "libcurl4-openssl-dev"}),
        ({"meson.build": "dependency('xkeyboard-config', required: false)"}, {"xkb-data"}),
        ({"configure.ac": "PKG_CHECK_MODULES([SSL], [libssl >= 1.1 libcrypto])"}, {"libssl-dev"}),
        ({"configure.ac": "AC_CHECK_LIB([z], [inflate])\nAC_SEARCH_LIBS(x, [onig])"}, {"zlib1g-dev", "libonig-dev"}),
        ({"Makefile": "LDLIBS = -lncurses -lm\nX = $(shell pkg-config --libs jansson)"}, {"libncurses-dev", "libjansson-dev"}),
        ({"a.c": "#include <openssl/ssl.h>\n#include <stdio.h>\n"}, {"libssl-dev"}),
        ({"a.c": "#include <zlib.h>\n", "lib/zlib.h": ""}, set()),
        ({"third_party/x/a.c": "#include <zlib.h>\n"}, set()),
        ({"tests/driver.cpp": 'system("tmux new -d");'}, {"tmux"}),
        ({"src/driver.cpp": 'system("tmux new -d");'}, set()),
        ({".github/workflows/ci.yml": CI}, {"ninja-build", "libssl-dev", "libfoo1-dev", "libncurses-dev"}),
        ({"src/notes.yml": CI}, set()),
    ],
)  # fmt: skip
def test_packages(files: dict[str, str], expected: set[str]) -> None:
    assert set(asked_packages(tree(files), Names())) == expected


@pytest.mark.parametrize(
    ("files", "hidden", "expected"),
    [
        ({"CMakeLists.txt": "enable_testing()", "Makefile": "test:\n"}, [], ("cmake", ".")),
        ({"CMakeLists.txt": "project(x)", "Makefile": "all:\n\ncheck test: all\n"}, [], ("make", ".")),
        ({"CMakeLists.txt": "project(x)", "Makefile": "all:\nVAR := test:\n"}, [], ("cmake", ".")),
        ({"meson.build": "subdir('t')", "t/meson.build": "test('a', b)"}, [], ("meson", ".")),
        ({"configure.ac": "", "lib/Makefile.am": "check_PROGRAMS = a"}, [], ("autotools", ".")),
        ({"expat/CMakeLists.txt": "include(CTest)"}, ["expat/tests/a.c"], ("cmake", "expat")),
        ({"Makefile": "all:\n", "tests/Makefile": "test:\n"}, ["tests/a.c"], ("make", "tests")),
        ({"Makefile": "all:\n"}, ["tests/a.c"], None),
    ],
)
def test_the_build_system(files: dict[str, str], hidden: list[str], expected: tuple[str, str] | None) -> None:
    found = choose(tree(files), hidden)
    assert (found and (found.system, found.folder)) == expected


def test_targets_are_rules_and_nothing_else() -> None:
    assert make_targets(tree({"Makefile": ".PHONY: test\nCHECK := 1\ncheck: all\n"})) == ("check",)
    assert make_targets(tree({"Makefile": "include rules.mk\n", "rules.mk": "tests::\n"})) == ("tests",)
    assert make_targets(tree({"Makefile": "all: test.o\n\techo test: x\n", "sub/Makefile": "test:\n"})) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("BUILD_TESTS", True), ("FMT_TEST", True), ("JSON_BuildTests", True), ("ENABLE_UNIT_TESTING", True), ("WITH_TESTS", True),
     ("BUILD_FUZZ_TESTS", False), ("LATEST", False), ("TEST_COVERAGE", False), ("DISABLE_TESTS", False), ("ATTESTATION", False)],
)  # fmt: skip
def test_options_that_turn_tests_on(name: str, expected: bool) -> None:
    assert is_test_option(name) is expected


def test_what_would_be_cloned_comes_from_packages() -> None:
    files = {
        "CMakeLists.txt": "enable_testing()\nFetchContent_Declare(googletest GIT_REPOSITORY x)\n# option(A_TESTS \"\" OFF)\n",
        ".gitmodules": '[submodule "g"]\n\tpath = extern/gtest\n\turl = https://example.org/google/googletest.git\n'
        '[submodule "o"]\n\tpath = other\n\turl = https://example.org/other\n'
        '[submodule "up"]\n\tpath = ../out\n\turl = https://example.org/googletest\n',
    }  # fmt: skip
    found = choose(tree(files), [])
    assert found is not None
    build, packages = describe(tree(files), found, Names())
    assert "-DFETCHCONTENT_SOURCE_DIR_GOOGLETEST=/usr/src/googletest" in build.options
    assert not any("A_TESTS" in option for option in build.options)
    assert build.vendored == (("extern/gtest", "/usr/src/googletest"), ("other", ""))
    assert "googletest" in packages


def test_a_submodule_that_is_there_needs_no_stand_in_and_its_tests_are_not_ours() -> None:
    files = {
        "CMakeLists.txt": 'enable_testing()\noption(KETTLE_BUILD_TESTS "" OFF)\n',
        ".gitmodules": '[submodule "g"]\n\tpath = extern/gtest\n\turl = https://example.org/google/googletest.git\n',
        "extern/gtest/CMakeLists.txt": 'option(gtest_build_tests "" OFF)\n',
    }
    found = choose(tree(files), [])
    assert found is not None
    build, packages = describe(tree(files), found, Names())
    assert build.vendored == ()
    assert "googletest" not in packages
    assert "-DKETTLE_BUILD_TESTS=ON" in build.options
    assert not any("gtest_build_tests" in option for option in build.options)


@pytest.mark.parametrize(
    ("project", "theirs", "others"),
    [
        ("project(fmt CXX)", ["libfmt-dev", "libfmt9", "fmt"], ["libfmtlog-dev", "libfm4", "googletest"]),
        ('project( "zlib" )', ["zlib1g-dev", "zlib1g"], ["libz3-dev", "lib32z1"]),
        ("project(x264)", ["libx264-164", "libx264-dev=2:0.164", "x264"], ["libx11-dev", "libx265-199"]),
        ("project(nlohmann_json)", ["nlohmann-json3-dev"], ["libjson-c-dev"]),
        ("project(libpng)", ["libpng16-16", "libpng-dev", "libpng-tools"], ["zlib1g-dev"]),
        ("project(tests)\n# project(fmt)", [], ["libfmt-dev", "libtests-perl"]),
    ],
)
def test_the_projects_own_releases_are_known(project: str, theirs: list[str], others: list[str]) -> None:
    own = own_names(tree({"CMakeLists.txt": project, "extern/fmt/CMakeLists.txt": "project(other)"}))
    assert [name for name in theirs if not is_own(name, own)] == []
    assert [name for name in others if is_own(name, own)] == []
    assert without_own([*theirs, *others], own) == tuple(others)


def test_the_projects_own_release_is_asked_of_nobody() -> None:
    """CI installs it to compare with; as a dependency it may be the solution."""
    files = {
        "CMakeLists.txt": "project(kettle C)\nenable_testing()\nadd_test(NAME a COMMAND a)\nfind_package(ZLIB)\n",
        "kettle.c": "", "tests/a.c": "",
        ".github/workflows/ci.yml": "- run: sudo apt-get install libkettle-dev kettle-tools libpng-dev\n",
    }  # fmt: skip
    planned = CppStack().plan(tree(files), tree(files), Facts(THEN, None, ("tests/a.c",)))
    assert isinstance(planned, CppPlanned)
    assert planned.left_out == tuple(
        f"{name}, a release of the project itself" for name in ("kettle-tools", "libkettle-dev")
    )
    assert set(without_own(planned.recipe.requirements, planned.own)) >= {"libpng-dev", "zlib1g-dev"}


def test_the_release_goes_with_the_date_unless_tools_must_be_newer() -> None:
    old = tree({"CMakeLists.txt": "cmake_minimum_required(VERSION 3.10...3.30)"})
    assert release_for(old, THEN) == "bookworm"
    assert release_for(old, datetime(2026, 1, 1, tzinfo=UTC)) == "trixie"
    assert release_for(tree({"CMakeLists.txt": "cmake_minimum_required(VERSION 3.28)"}), THEN) == "trixie"
    assert release_for(tree({"meson.build": "project('x', meson_version : '>= 1.3.0')"}), THEN) == "trixie"
    assert release_for(tree({"tests/a.cpp": "#include <catch2/catch_test_macros.hpp>"}), THEN) == "trixie"


def test_only_trees_with_c_are_planned() -> None:
    facts = Facts(THEN, None, ("tests/run.sh",))
    python = tree({"Makefile": "test:\n\tpytest\n", "kettle.py": "", "tests/run.sh": ""})
    assert CppStack().plan(python, python, facts) is None
    lone = tree({"kettle.c": ""})
    assert isinstance(CppStack().plan(lone, lone, facts), NoPlan)
    stack = CppStack()
    assert stack.claims_test("tests/a.cc") and stack.claims_test("tests/CMakeLists.txt")
    assert not stack.claims_test("tests/test_a.py")


@pytest.mark.parametrize(
    ("log", "changed"),
    [
        ("a.c:1:10: fatal error: openssl/ssl.h: No such file or directory", {"requirements": ("libssl-dev",)}),
        ("Could NOT find ZLIB (missing: ZLIB_LIBRARY)", {"requirements": ("zlib1g-dev",)}),
        (
            'meson.build:3:0: ERROR: Dependency "glib-2.0" not found, tried pkgconfig',
            {"requirements": ("libglib2.0-dev",)},
        ),
        ("/usr/bin/ld: cannot find -lz: No such file or directory", {"requirements": ("zlib1g-dev",)}),
        ("sh: 1: tmux: not found", {"requirements": ("tmux",)}),
        ("CMake 3.28 or higher is required.  You are running version 3.25.1", {"runtime": "trixie"}),
        ("Compatibility with CMake < 3.5 has been removed", {"options": ("-DCMAKE_POLICY_VERSION_MINIMUM=3.5",)}),
        ("a.c:3:1: error: implicit declaration of function 'gets'", {}),
        ("a.c:1:10: fatal error: own/unknown.h: No such file or directory", {}),
    ],
)
def test_remedies(log: str, changed: dict[str, object]) -> None:
    build = NativeBuild(system="cmake")
    planned = CppPlanned(Recipe(stack="cpp", runtime="bookworm", as_of="debian bookworm", build=build))
    fixes = find_fixes(read_remedies(), Evidence(collect=log), stack="cpp", tried=())
    mended = planned.mend(fixes[0]) if fixes else None
    assert (mended is None) == (not changed)
    if mended is not None:
        seen = {"requirements": mended.recipe.requirements, "runtime": mended.recipe.runtime}
        seen["options"] = mended.recipe.build.options if mended.recipe.build else ()
        assert {name: seen[name] for name in changed} == changed
