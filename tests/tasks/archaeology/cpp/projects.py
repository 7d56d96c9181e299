"""Small C and C++ projects with one bug and its fix, one for each build system."""

from tests.history import MIT
from tests.tasks.projects import Project

HEADER = "#ifndef KETTLE_H\n#define KETTLE_H\nint boil(int litres);\nint cool(int litres);\n#endif\n"
SOURCE = (
    '#include "kettle.h"\nint boil(int litres) { return litres * 100; }\nint cool(int litres) { return litres - 1; }\n'
)
FIXED = SOURCE.replace("litres * 100", "litres * 334")
PROGRAM = '#include <stdio.h>\n#include "kettle.h"\nint main(void) {{ {0} }}\n'
BOILS = PROGRAM.format('if (boil(1) != 334) { printf("cold\\n"); return 1; } return 0;')
NOTHING = PROGRAM.format("return boil(0) != 0;")
AS_EVER = PROGRAM.format("return boil(1) != 100;")
CRASHES = PROGRAM.format("return *(volatile int *)0;")
ASKS_MORE = "#include <assert.h>\n" + PROGRAM.format("assert(heat(1) == 1); return 0;")
ITSELF = {"LICENSE": MIT, "src/kettle.c": SOURCE, "src/kettle.h": HEADER}
PLAIN = {"tests/test_nothing.c": NOTHING, "tests/test_as_ever.c": AS_EVER, "tests/test_crashes.c": CRASHES}
REPAIR = {"src/kettle.c": FIXED, "tests/test_boils.c": BOILS}

GTEST_CMAKE = """\
cmake_minimum_required(VERSION 3.14)
project(kettle CXX)
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -Wall -Werror")
option(KETTLE_BUILD_TESTS "Build the tests" OFF)
add_library(kettle src/kettle.cpp)
target_include_directories(kettle PUBLIC src)
if(KETTLE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  enable_testing()
  add_executable(kettle_test tests/boil_test.cpp tests/cool_test.cpp tests/heat_test.cpp)
  target_link_libraries(kettle_test kettle GTest::gtest_main)
  add_test(NAME kettle COMMAND kettle_test)
endif()
"""
BOIL_TEST = """\
#include <gtest/gtest.h>
#include "kettle.h"
TEST(Boil, Nothing) { EXPECT_EQ(boil(0), 0); }
"""
NEW_BOIL_TEST = BOIL_TEST + "TEST(Boil, Litre) { EXPECT_EQ(boil(1), 334); }\n"
COOL_TEST = """\
#include <gtest/gtest.h>
#include <stdexcept>
#include "kettle.h"
TEST(Cool, Litre) { EXPECT_EQ(cool(1), 0); }
TEST(Cool, Skipped) { GTEST_SKIP(); }
TEST(Cool, Throws) { throw std::runtime_error("boiled dry"); }
"""
HEAT_TEST = '#include <gtest/gtest.h>\n#include "kettle.h"\nTEST(Heat, Litre) { EXPECT_EQ(heat(1), 1); }\n'


def cmake_gtest() -> Project:
    """GoogleTest, tests off by default, a warning that -Werror makes an error, a test of a function that is new."""
    start = {
        "LICENSE": MIT,
        "CMakeLists.txt": GTEST_CMAKE,
        "src/kettle.h": HEADER,
        "src/kettle.cpp": SOURCE + "static int idle() { return 0; }\n",
        "tests/boil_test.cpp": BOIL_TEST,
        "tests/cool_test.cpp": COOL_TEST,
        "tests/heat_test.cpp": "",
    }
    change = {
        "src/kettle.h": HEADER.replace("int cool", "int heat(int litres);\nint cool"),
        "src/kettle.cpp": FIXED + "int heat(int litres) { return litres; }\n",
        "tests/boil_test.cpp": NEW_BOIL_TEST,
        "tests/heat_test.cpp": HEAT_TEST,
    }
    return Project(start, change)


PLAIN_CMAKE = """\
cmake_minimum_required(VERSION 3.14)
project(kettle C)
enable_testing()
add_library(kettle src/kettle.c)
target_include_directories(kettle PUBLIC src)
add_subdirectory(tests)
"""
PLAIN_TESTS = """\
file(GLOB programs test_*.c)
foreach(program ${programs})
  get_filename_component(name ${program} NAME_WE)
  add_executable(${name} ${program})
  target_link_libraries(${name} kettle)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
set_tests_properties(test_crashes PROPERTIES LABELS rare)
"""


def cmake_plain() -> Project:
    """CTest with plain programs; one crashes in both states."""
    start = {**ITSELF, **PLAIN, "CMakeLists.txt": PLAIN_CMAKE, "tests/CMakeLists.txt": PLAIN_TESTS}
    return Project(start, REPAIR)


MAKEFILE = """\
CC = gcc
CFLAGS = -Wall -Werror -Isrc
PROGRAMS = $(patsubst %.c,%,$(wildcard tests/test_*.c))

all: src/kettle.o

tests/%: tests/%.c src/kettle.o
\t$(CC) $(CFLAGS) -o $@ $^

.PHONY: test
test: $(PROGRAMS)
\t@sh tests/all.sh
\t@for program in $(PROGRAMS); do ./$$program || echo "$$program failed"; done
"""


def make_plain() -> Project:
    """A Makefile whose test target runs programs in a loop, and a script."""
    start = {**ITSELF, **PLAIN, "Makefile": MAKEFILE, "tests/all.sh": "test -f src/kettle.h\n"}
    return Project(start, REPAIR)


MESON = """\
project('kettle', 'c', default_options: ['werror=true'])
kettle = static_library('kettle', 'src/kettle.c')
if get_option('tests')
  foreach name : ['nothing', 'as_ever', 'crashes', 'boils']
    program = executable('test_' + name, 'tests/test_' + name + '.c', include_directories: 'src', link_with: kettle)
    test(name, program)
  endforeach
endif
"""


def meson() -> Project:
    """Meson with plain programs, tests off by default."""
    boils = {"tests/test_boils.c": NOTHING}
    options = {"meson_options.txt": "option('tests', type : 'boolean', value : false)\n"}
    return Project({**ITSELF, **PLAIN, **boils, **options, "meson.build": MESON}, REPAIR)


CONFIGURE = """\
AC_INIT([kettle], [1.0])
AM_INIT_AUTOMAKE([foreign subdir-objects])
AC_PROG_CC
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"""
AUTOMAKE = """\
AM_CFLAGS = -I$(srcdir)/src -Werror
check_PROGRAMS = test_nothing test_as_ever test_crashes test_boils
TESTS = $(check_PROGRAMS)
test_nothing_SOURCES = tests/test_nothing.c src/kettle.c
test_as_ever_SOURCES = tests/test_as_ever.c src/kettle.c
test_crashes_SOURCES = tests/test_crashes.c src/kettle.c
test_boils_SOURCES = tests/test_boils.c src/kettle.c
"""


def autotools() -> Project:
    """configure.ac and automake's harness."""
    boils = {"tests/test_boils.c": NOTHING}
    return Project({**ITSELF, **PLAIN, **boils, "configure.ac": CONFIGURE, "Makefile.am": AUTOMAKE}, REPAIR)
