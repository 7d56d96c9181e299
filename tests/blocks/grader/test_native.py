"""What a native run reads: lists and reports of test programs, the trace of a test target, failed compilations."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from blocks.grader.inside_native import compiler
from blocks.grader.inside_native.frameworks import gtest_names, read_gtest, read_junit
from blocks.grader.inside_native.outcome import Case, kind_of_message, of_exit
from blocks.grader.inside_native.trace import read_trace
from blocks.grader.inside_native.workshop import TEST_PATH, Done, make_old

LIST = """\
Running main() from gtest_main.cc
Boil.
  Nothing
  DISABLED_Later
Sizes/Boil.  # TypeParam = int
  All/0  # GetParam() = 3
"""

TRACE = """\
100 execve("/usr/bin/make", ["make", "test"], 0x7ffd /* 9 vars */) = 0
100 vfork( <unfinished ...>
101 execve("/bin/sh", ["/bin/sh", "-c", "cd tests && ./all.sh \\"a b\\""], 0x55 /* 9 vars */ <unfinished ...>
100 <... vfork resumed>) = 101
101 <... execve resumed>) = 0
101 chdir("tests") = 0
101 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f) = 102
102 execve("./all.sh", ["./all.sh", "a b"], 0x55 /* 9 vars */) = 0
102 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD <unfinished ...>
103 execve("../bin/missing", ["../bin/missing"], 0x55 /* 9 vars */) = -1 ENOENT (No such file or directory)
103 execve("../bin/kettle", ["../bin/kettle"], 0x55 /* 9 vars */) = 0
102 <... clone resumed>, child_tidptr=0x7f) = 103
103 --- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL} ---
103 +++ killed by SIGSEGV (core dumped) +++
102 --- SIGCHLD {si_signo=SIGCHLD} ---
102 +++ exited with 3 +++
101 +++ exited with 0 +++
"""


def test_the_list_of_a_googletest_program() -> None:
    assert gtest_names(LIST) == ["Boil.Nothing", "Sizes/Boil.All/0"]


def test_a_googletest_report() -> None:
    def test(name: str, **more: object) -> dict[str, object]:
        return {"name": name, "status": "RUN", "result": "COMPLETED", "time": "0.5s", **more}

    failures = [{"failure": "/src/a.cc:3\nExpected equality of these values:\n  1\n  2", "type": ""}]
    thrown = [{"failure": 'unknown file\nC++ exception with description "dry" thrown in the test body.', "type": ""}]
    suite = [
        test("Right"),
        test("Wrong", failures=failures),
        test("Throws", failures=thrown),
        test("Skips", result="SKIPPED"),
        test("DISABLED_Later", status="NOTRUN", result="SUPPRESSED"),
    ]
    cases = read_gtest(json.dumps({"testsuites": [{"name": "Boil", "testsuite": suite}]}))
    assert [(case.name, case.status, case.kind) for case in cases] == [
        ("Boil.Right", "passed", None),
        ("Boil.Wrong", "failed", "assertion"),
        ("Boil.Throws", "failed", "error"),
        ("Boil.Skips", "skipped", None),
        ("Boil.DISABLED_Later", "skipped", None),
    ]
    assert cases[1].detail == "/src/a.cc:3 Expected equality of these values: 1 2"
    assert cases[0].seconds == 0.5


def test_a_wrong_exception_is_told_from_a_wrong_value() -> None:
    wrong = "Expected: boil() throws an exception of type Dry.\n  Actual: it throws a different type."
    assert kind_of_message(wrong) == "wrong_exception"
    assert kind_of_message("Expected: boil() doesn't throw an exception.") == "assertion"


def test_sections_of_one_catch_case_are_one_test(tmp_path: Path) -> None:
    report = tmp_path / "report"
    report.write_text(
        """<testsuites><testsuite name="kettle">
        <testcase classname="kettle.global" name="boils/one" time="0.1"/>
        <testcase classname="kettle.global" name="boils/two" time="0.1"><failure message="1 == 2" type="CHECK"/></testcase>
        <testcase classname="kettle.global" name="cools" time="0.1"/>
        </testsuite></testsuites>"""
    )
    found = {case.name: (case.status, case.kind) for case in read_junit(report)}
    assert found == {"boils": ("failed", "assertion"), "cools": ("passed", None)}


@pytest.mark.parametrize(
    ("done", "status", "kind"),
    [
        (Done(0, "", 1.0), "passed", None),
        (Done(77, "", 1.0), "skipped", None),
        (Done(1, "", 1.0), "failed", "assertion"),
        (Done(-6, "", 1.0), "failed", "assertion"),
        (Done(-11, "", 1.0), "failed", "error"),
        (Done(None, "", 1.0, timed_out=True), "failed", "timeout"),
        (Done(None, "no such file", 0.0), "failed", "compile"),
    ],
)
def test_how_a_plain_program_ended(done: Done, status: str, kind: str | None) -> None:
    case = of_exit("kettle", done)
    assert (case.status, case.kind) == (status, kind)
    assert isinstance(case, Case) and case.name == "kettle"


def test_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text(TRACE)
    found = read_trace(path, Path("/b"))
    seen = {pid: (str(one.program), one.argv[1:], one.parent, one.code) for pid, one in found.items()}
    assert seen == {
        100: ("/usr/bin/make", ("test",), 0, None),
        101: ("/bin/sh", ("-c", 'cd tests && ./all.sh "a b"'), 100, 0),
        102: ("/b/tests/all.sh", ("a b",), 101, 3),
        103: ("/b/bin/kettle", (), 102, -11),
    }
    assert read_trace(tmp_path / "none", Path("/b")) == {}


def test_the_wrapper_of_a_compiler(tmp_path: Path) -> None:
    """Warnings are no errors, failures are written down, checks run as they are."""
    wrappers, real, log = tmp_path / "wrappers", tmp_path / "real", tmp_path / "log"
    for folder in (wrappers, real):
        folder.mkdir()
    wrapper = wrappers / "cc"
    wrapper.write_text(f"#!{sys.executable} -ISB\n" + Path(compiler.__file__).read_text())
    (real / "cc").write_text(
        '#!/bin/sh\necho "$@"\ncase "$*" in *bad.c*) echo "bad.c:1: error: no" >&2; exit 3;; esac\n'
    )
    for script in (wrapper, real / "cc"):
        script.chmod(0o755)
    environment = {"PATH": f"{wrappers}:{real}:{os.environ['PATH']}", "ENVMILL_COMPILER_LOG": str(log)}

    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            ["cc", *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout.strip()

    assert run("-Werror", "-Werror=unused", "-O1", "-c", "a.c") == (0, "-Wunused -O1 -c a.c")
    assert run("-Werror", "-c", "CMakeFiles/CMakeScratch/x/src.c") == (0, "-Werror -c CMakeFiles/CMakeScratch/x/src.c")
    assert not log.exists()
    assert run("-Werror", "-c", "bad.c") == (3, "-c bad.c")
    assert json.loads(log.read_text()) == {"sources": ["bad.c"], "folder": str(tmp_path), "error": "bad.c:1: error: no"}


def test_which_sources_hold_tests() -> None:
    assert all(map(TEST_PATH.search, ("tests/a.c", "src/test_a.c", "a_test.cc", "src/AllTests.cpp", "testing/x.cc")))
    assert not any(map(TEST_PATH.search, ("src/latest.c", "src/kettle.cpp", "src/contest.cc")))


def test_programs_that_come_with_a_tree_are_older_than_its_sources(tmp_path: Path) -> None:
    """Whatever their times say: also in the future."""
    for name, content in {"kettle": b"\x7fELF...", "src/kettle.c": b"int a;", "tests/test_a.c": b"int b;"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1 << 33, 1 << 33))
    (tmp_path / "link").symlink_to("nowhere")
    make_old(tmp_path, frozenset({"tests/test_a.c"}))
    program, source, test = ((tmp_path / name).stat().st_mtime for name in ("kettle", "src/kettle.c", "tests/test_a.c"))
    assert program < source < 1e9 < test < 1 << 33
