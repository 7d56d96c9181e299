"""`observe` on a real suite: every failure kind, and what is said when a run does not get to its end."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from blocks.records import FailureKind
from blocks.vectors import TestStatus, TestVector
from tests.blocks.grader.conftest import GRADER, living, needs_root

pytestmark = needs_root

KINDS = """
import json
import unittest

import pytest


@pytest.fixture
def broken():
    raise KeyError("fixture")


@pytest.fixture
def late():
    yield
    raise KeyError("late")


def test_passed():
    pass


def test_assertion():
    assert 1 == 2


def test_assertion_by_fail():
    pytest.fail("no")


def test_assertion_did_not_raise():
    with pytest.raises(ValueError):
        pass


def test_wrong_exception_in_the_block():
    with pytest.raises(ValueError):
        int([])


def test_wrong_exception_by_function():
    pytest.raises(ValueError, int, [])


def test_error_after_the_block():
    with pytest.raises(ValueError):
        int("x")
    raise KeyError("after")


def test_missing_name_of_a_module():
    json.nothing_of_this_name


def test_missing_name_imported():
    from json import nothing_of_this_name


def test_error_none_has_nothing():
    raise RuntimeError


def test_setup(broken):
    pass


def test_setup_in_teardown(late):
    pass


@pytest.mark.xfail
def test_skipped_xfailed():
    assert False


@pytest.mark.xfail
def test_passed_unexpectedly():
    pass


@pytest.mark.xfail(strict=True)
def test_assertion_strict():
    pass


@pytest.mark.parametrize("value", ["a::b", "[x]", "\\u00f6\\n", "a b", "\\udc80"])
def test_passed_odd(value):
    pass


class TestCase(unittest.TestCase):
    def test_assertion_in_a_subtest(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertEqual(i, 0)

    def test_wrong_exception(self):
        with self.assertRaises(ValueError):
            int([])

    @unittest.skip("no")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_skipped_as_expected(self):
        assert False
"""


def observe(workspace: Path, python: str, *options: str, uid: int, as_root: bool = True) -> TestVector:
    out = workspace.parent / "out"
    out.mkdir(mode=0o777, exist_ok=True)
    out.chmod(0o777)
    command = [sys.executable if as_root else python, "-I", "-S", str(workspace.parent / "grader"), "observe"]
    command += ["--workspace", str(workspace), "--python", python, "--out", str(out / "vector.json"), *options]
    who = {} if as_root else {"user": uid, "group": uid, "extra_groups": []}
    if as_root:
        command += ["--user", str(uid)]
    subprocess.run(command, cwd="/", check=True, timeout=60, **who)  # type: ignore[call-overload]
    return TestVector.model_validate_json((out / "vector.json").read_bytes())


@pytest.fixture
def workspace(box: Path) -> Path:
    shutil.copytree(GRADER, box / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    (box / "app" / "tests").mkdir(parents=True)
    return box / "app"


def test_every_failure_kind_is_told_from_the_exception(workspace: Path, subject_python: str, subject_uid: int) -> None:
    (workspace / "tests/test_kinds.py").write_text(KINDS, encoding="utf-8", errors="surrogatepass")
    (workspace / "tests/test_no_module.py").write_text("import nothing_of_this_name\n")
    (workspace / "tests/test_syntax.py").write_text("def (\n")
    (workspace / "tests/test_asks.py").write_text("import pytest\n\npytest.importorskip('nothing_of_this_name')\n")
    vector = observe(workspace, subject_python, uid=subject_uid)
    assert vector.complete and not vector.timed_out and vector.exit_code == 1
    assert vector.collection_errors == ("tests/test_no_module.py", "tests/test_syntax.py")
    assert vector.results["tests/test_no_module.py"].failure_kind is FailureKind.IMPORT
    assert vector.results["tests/test_syntax.py"].failure_kind is FailureKind.COLLECTION
    asks = vector.results["tests/test_asks.py"]
    assert asks.status is TestStatus.SKIPPED and asks.detail.startswith("could not import 'nothing_of_this_name'")
    assert vector.results["tests/test_kinds.py::TestCase::test_skipped"].detail == "no"
    tests = {test: result for test, result in vector.results.items() if "::" in test}
    assert len(tests) == 24
    for test, result in tests.items():
        told = result.failure_kind or result.status
        assert test.rpartition("::test_")[2].startswith(told), (test, result)
        assert (result.failure_kind is not None) == (result.status is TestStatus.FAILED)
    assert "nothing_of_this_name" in tests["tests/test_kinds.py::test_missing_name_imported"].detail


def test_a_run_out_of_time_names_the_test_it_stood_in(workspace: Path, subject_python: str, subject_uid: int) -> None:
    code = "import time\n\n\ndef test_first():\n    pass\n\n\ndef test_long():\n    time.sleep(60)\n\n\ndef test_never(): ...\n"
    (workspace / "tests/test_slow.py").write_text(code)
    vector = observe(workspace, subject_python, "--timeout", "1.5", uid=subject_uid)
    assert (vector.complete, vector.timed_out, vector.exit_code) == (False, True, None)
    assert vector.passed() == {"tests/test_slow.py::test_first"}
    assert vector.results["tests/test_slow.py::test_long"].failure_kind is FailureKind.TIMEOUT
    assert "tests/test_slow.py::test_never" not in vector.results


def test_an_ordinary_user_observes_with_its_own_configuration(
    workspace: Path, subject_python: str, subject_uid: int
) -> None:
    code = (
        "import os\nimport subprocess\nimport marked\n\n\ndef check_it():\n"
        "    assert os.environ['COLOUR'] == 'blue' and 'SECRET' not in os.environ\n"
        "    subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    )
    (workspace / "tests/checks.py").write_text(code)
    (workspace / "lib").mkdir()
    (workspace / "lib/marked.py").write_text("")
    (workspace / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    ini = workspace.parent / "lines.ini"
    ini.write_text("[pytest]\npython_functions = check_*\npythonpath =\n    lib\n")
    options = ["--ini-file", str(ini), "--environment-json", json.dumps({"COLOUR": "blue"})]
    options += ["--files-json", json.dumps(["tests/checks.py", "tests/gone.py"])]
    vector = observe(workspace, subject_python, *options, uid=subject_uid, as_root=False)
    assert vector.complete, vector.log_tail
    assert vector.passed() == {"tests/checks.py::check_it"}, vector
    assert vector.collection_errors == ("tests/gone.py",)
    assert vector.results["tests/gone.py"].failure_kind is FailureKind.ABSENT
    assert living(subject_uid) == []
