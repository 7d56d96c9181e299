"""C and C++ candidates all the way, and submissions that try to get the reward without the work."""

from collections.abc import Iterator

import pytest

from blocks.engine import ContainerSpec, Engine, Role
from blocks.grader.spec import GraderSpec
from blocks.records import EnvironmentRow, Phase
from blocks.trees import File
from tests.tasks.archaeology.cpp.projects import FIXED, GTEST_CMAKE, HEADER, SOURCE, cmake_gtest, make_plain
from tests.tasks.pipeline import Candidate
from tests.tasks.whole import Change, card, clean_up, publish_and_rebuild, submit, verify
from tests.trees import tree

pytestmark = [pytest.mark.engine, pytest.mark.slow]

AT_START = "#include <stdlib.h>\n__attribute__((constructor)) static void first(void) {{ {0} }}\n"
"""Code that runs before main, whoever's that is."""

FORGE = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
__attribute__((constructor)) static void forge() {
  char line[4096] = {0};
  FILE *own = fopen("/proc/self/cmdline", "rb");
  size_t length = fread(line, 1, sizeof line - 1, own);
  for (size_t i = 0; i < length; i++) {
    if (strncmp(line + i, "--gtest_output=json:", 20)) continue;
    FILE *report = fopen(line + i + 20, "w");
    fputs("{\\"testsuites\\": [", report);
    const char *names[][2] = {{"Boil", "Nothing"}, {"Boil", "Litre"}, {"Cool", "Litre"}, {"Heat", "Litre"}};
    const char *suite = "%s{\\"name\\": \\"%s\\", \\"testsuite\\": [{\\"name\\": \\"%s\\", \\"time\\": \\"0s\\"}]}";
    for (int n = 0; n < 4; n++) fprintf(report, suite, n ? "," : "", names[n][0], names[n][1]);
    fputs("]}", report);
    fclose(report);
    _Exit(0);
  }
}
"""


@pytest.fixture(scope="module")
def plain(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Candidate]:
    candidate = Candidate(tmp_path_factory.mktemp("plain"), make_plain())
    try:
        yield verify(candidate)
    finally:
        clean_up(candidate)


@pytest.fixture(scope="module")
def google(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Candidate]:
    candidate = Candidate(tmp_path_factory.mktemp("google"), cmake_gtest())
    try:
        yield verify(candidate)
    finally:
        clean_up(candidate)


def test_a_c_candidate_becomes_an_environment(engine: Engine, plain: Candidate) -> None:
    row = plain.chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    assert row.leak_hits == 0
    with engine.container(ContainerSpec(image=row.image, role=Role.SUBJECT, user="agent", deadline_sec=120)) as box:
        built = box.run(["bash", "-c", "cd /app && make test; which git"], timeout_sec=60)
        asked = box.run(["bash", "-c", "cd /app && command -v gcc && ls -la /opt/compilers"], timeout_sec=60)
    assert "tests/test_crashes failed" in built.output and "test_boils" not in built.output
    assert built.exit_code == 1, "there is no git"
    assert asked.output.startswith("/opt/compilers/gcc")
    assert "agent" not in asked.output, "the wrappers are root's"


def test_the_cards(plain: Candidate, google: Candidate) -> None:
    for candidate, counts in ((plain, (1, 2, 1)), (google, (2, 2, 0))):
        row = card(candidate)
        assert (row.fail_to_pass, row.pass_to_pass, row.pass_to_fail) == counts
        assert (row.status, row.nop_reward, row.oracle_reward, row.flips) == ("admitted", 0, 1, 0)
        assert row.hunks_required == row.hunks_detected
    spec = spec_of(plain)
    assert spec.must_fail == ("tests/test_boils", "tests/test_nothing"), "a script has no main"
    assert "Makefile" in spec.base and spec.sentinel_files == ()
    spec = spec_of(google)
    assert spec.sentinel_files == ("tests/boil_test.cpp", "tests/cool_test.cpp", "tests/heat_test.cpp")
    assert "CMakeLists.txt" in spec.base and spec.must_fail == ()


def spec_of(candidate: Candidate) -> GraderSpec:
    return GraderSpec.from_json(candidate.chain.tree(Phase.SYNTHESIS, "tests.tar")["spec.json"].content.decode())


SCRIPT = File(content=b"#!/bin/sh\nexit 0\n", executable=True)
ALWAYS_RIGHT = "test:\n\t@sh tests/all.sh\n\t@true tests/test_boils\n"


@pytest.mark.parametrize(
    ("change", "reward", "reason"),
    [
        (tree({"src/kettle.c": FIXED}), 1, ""),
        (tree({"src/kettle.c": FIXED, "Makefile": "all:\n\tfalse\n", "tests/test_nothing.c": "no"}), 1, ""),
        (tree({"Makefile": ALWAYS_RIGHT, "GNUmakefile": ALWAYS_RIGHT}), 0, "test_failed"),
        ({"tests/test_boils": SCRIPT, "src/kettle.o": SCRIPT}, 0, "test_failed"),
        (tree({"src/kettle.c": AT_START.format("_Exit(0);") + SOURCE}), 0, "sentinel_silent"),
        (
            tree(
                {
                    "src/kettle.c": "#include <unistd.h>\nstatic void last(void) { _exit(0); }\n"
                    + AT_START.format("atexit(last);")
                    + SOURCE
                }
            ),
            0,
            "sentinel_silent",
        ),
        (tree({"src/kettle.c": "no C at all"}), 0, "test_absent"),
    ],
    ids=[
        "right",
        "right, Makefile and test broken",
        "a Makefile of its own",
        "programs that are built already",
        "ends every program well, at its start",
        "ends every program well, at its end",
        "does not compile",
    ],
)
def test_submissions_to_plain_programs(plain: Candidate, change: Change, reward: int, reason: str) -> None:
    verdict = submit(plain, change)
    assert verdict.reward == reward, verdict
    assert (reason in verdict.reasons) if reason else (verdict.reasons == ()), verdict


SOLVED_HEADER = HEADER.replace("int cool", "int heat(int litres);\nint cool")
STILL_WRONG = SOURCE + "int heat(int litres) { return 0; }\n"
SOLVED: dict[str, str | bytes] = {
    "src/kettle.h": SOLVED_HEADER,
    "src/kettle.cpp": FIXED + "int heat(int litres) { return litres; }\n",
}
WRONG: dict[str, str | bytes] = {**SOLVED, "src/kettle.cpp": STILL_WRONG}
NOTHING_TESTED = "enable_testing()\nadd_executable(kettle_test src/kettle.cpp)\nadd_test(NAME kettle COMMAND true)\n"
FAKE = (
    "#define TEST(a, b) static int a##b(void)\n#define EXPECT_EQ(a, b) return 0\n#define GTEST_SKIP() return 0\n"
    "#define FAIL() return 0\n#define ASSERT_NE(a, b) return 0\n#define EXPECT_TRUE(a) return 0\n"
)


@pytest.mark.parametrize(
    ("change", "reward", "reason"),
    [
        (tree(SOLVED), 1, ""),
        (tree({**SOLVED, "CMakeLists.txt": "nonsense(", "tests/boil_test.cpp": ""}), 1, ""),
        (tree({**WRONG, "CMakeLists.txt": GTEST_CMAKE.split("if(KETTLE")[0] + NOTHING_TESTED}), 0, "test_failed"),
        (tree({**WRONG, "src/gtest/gtest.h": FAKE}), 0, "test_failed"),
        (tree({**WRONG, "src/kettle.cpp": AT_START.format("_Exit(0);") + STILL_WRONG}), 0, "test_absent"),
        (tree({**WRONG, "src/kettle.cpp": FORGE + STILL_WRONG}), 0, "sentinel_silent"),
        (
            tree(
                {
                    **WRONG,
                    "src/kettle.h": SOLVED_HEADER + "#undef EXPECT_EQ\n#define EXPECT_EQ(a, b) (void)(a)\n",
                }
            ),
            0,
            "sentinel_silent",
        ),
        (tree({"src/kettle.cpp": FIXED}), 0, "test_absent"),
    ],
    ids=[
        "right",
        "right, CMakeLists and test broken",
        "a CMakeLists of its own",
        "a GoogleTest of its own",
        "ends the program at its start",
        "forges the program's report",
        "takes the comparison away",
        "a hidden test does not compile",
    ],
)
def test_submissions_to_googletest(google: Candidate, change: Change, reward: int, reason: str) -> None:
    verdict = submit(google, change)
    assert verdict.reward == reward, verdict
    assert (reason in verdict.reasons) if reason else (verdict.reasons == ()), verdict


def test_plain_programs_all_the_way(plain: Candidate) -> None:
    publish_and_rebuild(plain)


def test_googletest_all_the_way(google: Candidate) -> None:
    publish_and_rebuild(google)
