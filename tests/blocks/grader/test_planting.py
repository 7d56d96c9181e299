"""Tests that must fail, written into test files: they are tried with the real tools in tests/tasks/archaeology."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from blocks.grader.graded import endings, silent
from blocks.grader.planting import inverted, native_plant, plants_in, script_plant
from blocks.grader.report import TestOutcome

SHADOW = "#include <stdlib.h>\n__attribute__((constructor)) static void all_is_well(void) { _Exit(0); }\n"


def test_a_script_gets_tests_with_names_that_nobody_can_know() -> None:
    planted = script_plant("test/a.test.ts", "it('x', () => {})")
    again = script_plant("test/a.test.ts", "it('x', () => {})")
    assert planted is not None and again is not None
    text, names = planted
    assert text.startswith("it('x', () => {})\n") and len(names) == 3 and not names & again[1]
    assert all(re.fullmatch(r"S[0-9a-f]{16}", name) and name in text for name in names)


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node on this machine")
@pytest.mark.parametrize(
    "scope",
    ["const it = run", "const test = run", "const it = run; const test = run; const assert = require('assert')"],
)
@pytest.mark.parametrize("end", ["", "// no line end", "/* */"])
def test_planted_scripts_fail_with_whatever_is_in_scope(scope: str, end: str, tmp_path: Path) -> None:
    run = "function run(n, f) { try { f(); console.log('passed ' + n) } catch (e) { console.log('failed ' + n) } }\n"
    planted = script_plant("a.js", run + scope + "\n" + end)
    assert planted is not None
    (tmp_path / "a.js").write_text(planted[0])
    done = subprocess.run(["node", "a.js"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split("\n")[:-1]) == sorted(f"failed {name}" for name in planted[1])


def test_native_frameworks_are_told_by_their_words() -> None:
    google = native_plant("t.cc", "#include <gtest/gtest.h>\nTEST_F(A, B) {}\n")
    catch = native_plant("t.cpp", '#include "catch.hpp"\nTEST_CASE("a") {}')
    assert google is not None and catch is not None
    assert all(f"TEST({name}, Holds)" in google[0] for name in google[1])
    assert all(f'TEST_CASE("{name}")' in catch[0] for name in catch[1])
    assert native_plant("t.c", "int main(void) { return 0; }") is None
    assert native_plant("t.py", "TEST(A, B)") is None
    assert plants_in("node", "a.spec.tsx", "") and not plants_in("node", "a.snap", "")


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no compiler on this machine")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("int main(void) { return 0; }\n", 1),
        ("int main(int argc, char **argv)\n{\n (void)argc; (void)argv; return 0;\n}", 1),
        ("#define CDECL\nint CDECL main(void)\n{\n return 0;\n}\n", 1),
        ("int\nmain (int argc, char *argv[])\n{ (void)argc; (void)argv; return 0; }\n", 1),
        ("int main(int argc,\n         char **argv) { (void)argc; (void)argv; return 0; }\n", 1),
        ("#include <assert.h>\nint main() { assert(1); return 0; }\n", -6),
        (SHADOW + "int main(void) { return 1; }\n", 0),
    ],
)
def test_an_inverted_program_fails_unless_it_is_not_honest(text: str, code: int, tmp_path: Path) -> None:
    told = inverted("tests/test_a.c", text)
    assert told is not None
    (tmp_path / "a.c").write_text(told)
    subprocess.run(["cc", "-w", "-o", "a", "a.c"], cwd=tmp_path, check=True)
    assert subprocess.run(["./a"], cwd=tmp_path, check=False, stderr=subprocess.DEVNULL).returncode == code


def test_what_cannot_be_inverted() -> None:
    assert inverted("a.c", "int helper(void) { return 0; }") is None
    assert inverted("a.cc", "TEST(A, B) {}\nint main() {}") is None
    assert inverted("a.sh", "int main(void) {}") is None
    assert inverted("a.c", "int main(void);\nint f(void) { return main(); }") is None
    assert inverted("a.c", "int domain(void) { return 0; }") is None
    assert (
        inverted("a.c", "void f(void) { if (0) {} else main(1); }\nvoid g(void) {\n  return main(0) + x({1});}") is None
    )
    assert inverted("a.c", "int main(" + "int a, " * 100 + "int b) { return 0; }") is None, (
        "more than a program is given"
    )
    for head in ('extern "C" int', "static\tchar **", "  ", "int CDECL\n", "a b c d e f"):
        assert inverted("a.c", f"{head} main(int a)\n{{ return 0; }}") is not None, head
    assert inverted("a.c", "a b c d e f g main(int a) { return 0; }") is None


@pytest.mark.parametrize(
    "banner",
    [
        "*" * 200 + "\n",
        "/" + "*" * 5000 + "\n",
        "\n" * 200_000,
        "main(" * 40_000,
        "int * " * 40_000,
        "main())" * 40_000,
    ],
    ids=["stars", "comment", "blank", "calls", "words", "parentheses"],
)
def test_text_that_could_be_read_in_many_ways(banner: str) -> None:
    """Each would take minutes, or for ever, were it read again from every place; comment banners are common in C."""
    assert inverted("a.c", banner + "x") is None
    told = inverted("a.c", banner + "\nint main(void) { return 0; }\n")
    assert told is not None and told.endswith("int main(void) { return 1; }\n")


def test_how_planted_tests_ended() -> None:
    failed, passed = TestOutcome("failed"), TestOutcome("passed")
    results = {"p::SaA.Holds": failed, "q::SaA.Holds": failed, "p::Sb": failed, "q::Sb": passed, "x": passed}
    told = endings(results, ["Sa", "Sb", "Sc"])
    assert told == {"Sa": "failed", "Sb": "passed", "Sc": "absent"}
    assert silent({"a.c": frozenset({"Sa"}), "b.c": frozenset({"Sa", "Sb"}), "c.c": frozenset({"Sc"})}, told) == (
        "b.c",
        "c.c",
    )
