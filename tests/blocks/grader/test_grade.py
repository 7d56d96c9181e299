"""The grader against the attacks of its threat model: gold 1, nop 0, everything that only pretends 0."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.blocks.grader.conftest import HIDDEN_TEST, OLD_TEST, RIGHT, WRONG, Task, living, needs_root

pytestmark = [needs_root, pytest.mark.slow]

PASSING = "def test_add():\n    pass\n"
HOOK = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    outcome = yield\n    outcome.get_result().outcome = 'passed'\n"
)


def test_gold_is_1_and_nothing_is_left(task: Task, subject_uid: int) -> None:
    task.write("src/calc/__init__.py", RIGHT)
    task.write("src/calc/json.py", "VALUE = 1\n")
    result = task.grade()
    assert (result.reward, result.exit_code, result.reasons) == (1, 0, []), result.details
    assert result.details["fail_to_pass"] == {"passed": 2, "total": 2}
    sentinels = result.details["sentinels"]
    assert isinstance(sentinels, dict) and len(sentinels) == 6 and set(sentinels.values()) == {"failed"}
    assert sorted(path.name for path in (task.app / "tests").iterdir()) == ["test_add.py", "test_old.py"]
    assert (task.app / "src/calc/json.py").exists(), "a module inside a package shadows nothing"
    assert living(subject_uid) == []
    assert not [path for path in Path("/tmp").glob("run-*") if path.stat().st_uid == subject_uid]


def test_nop_is_0_by_assertion(task: Task) -> None:
    result = task.grade()
    assert (result.reward, result.reasons) == (0, ["test_failed"])
    failed = result.details["failed_tests"]
    assert isinstance(failed, dict)
    assert {test["failure_kind"] for test in failed.values()} == {"assertion"}
    assert set(failed) == set(task.spec.fail_to_pass)


def exit_at_import(task: Task) -> str:
    task.write("src/calc/__init__.py", "import os\nos._exit(0)\n")
    return "report_incomplete"


def forge_standard_output(task: Task) -> str:
    lines = "\\n".join(f"PASSED {test}" for test in task.spec.whitelist)
    task.write("src/calc/__init__.py", f"import os\nos.write(1, b'''{lines}\\n3 passed''')\nos._exit(0)\n")
    return "report_incomplete"


def leave_by_pytest_exit(task: Task) -> str:
    task.write(
        "src/calc/__init__.py",
        "import pytest\n\n\ndef double(a):\n    pytest.exit('done', returncode=0)\n\n\nadd = double\n",
    )
    return "report_incomplete"


def write_into_the_channel(task: Task) -> str:
    code = (
        "import os\nfor fd in range(3, 64):\n    try:\n"
        '        os.write(fd, b\'{"event": "end", "exit_code": 0}\\n\')\n    except OSError:\n        pass\n'
    )
    task.write("src/calc/__init__.py", code + WRONG)
    return "report_tampered"


def skip_in_the_function(task: Task) -> str:
    task.write(
        "src/calc/__init__.py", "import unittest\n\n\ndef add(a, b):\n    raise unittest.SkipTest\n\n\ndouble = add\n"
    )
    return "test_skipped"


def hook_in_conftest(task: Task) -> str:
    for folder in ("", "tests/", "src/", "src/calc/"):
        task.write(folder + "conftest.py", HOOK)
    task.write("tests/CONFTEST.py", HOOK)
    return "test_failed"


def own_pytest_configuration(task: Task) -> str:
    for name in ("pytest.ini", ".pytest.ini", "tox.ini", "tests/pytest.ini"):
        task.write(name, "[pytest]\naddopts = --collect-only -p evil\n")
    task.write("setup.cfg", "[tool:pytest]\naddopts = --collect-only\n")
    task.write("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "--collect-only"\n')
    return "test_failed"


def shadow_the_runner(task: Task) -> str:
    task.write("pytest.py", "import os\nos._exit(0)\n")
    task.write("src/_pytest/__init__.py", "import os\nos._exit(0)\n")
    task.write("tests/random.py", "import os\nos._exit(0)\n")
    (task.app / "unittest").symlink_to("src/_pytest")
    return "test_failed"


def plant_startup_files(task: Task) -> str:
    code = "import os; os._exit(0)\n"
    for path in ("sitecustomize.py", "src/usercustomize.py", "src/evil.pth", "src/calc/__pycache__/x.pyc"):
        task.write(path, code)
    task.write("src/evil.py", HOOK)
    task.write("src/evil-1.dist-info/entry_points.txt", "[pytest11]\nevil = evil\n")
    task.write("src/evil-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    task.write("evil.egg-info/entry_points.txt", "[pytest11]\nevil = evil\n")
    return "test_failed"


def replace_the_hidden_tests_at_import(task: Task) -> str:
    names = ", ".join(repr(str(task.app / path)) for path in ("tests/test_add.py", "tests/test_old.py", "conftest.py"))
    code = (
        f"import os, shutil\nfor name in [{names}]:\n"
        "    for act in (lambda: os.unlink(name), lambda: open(name, 'w').write('def test_add(): pass'),\n"
        "                lambda: os.rename(name, name + 'x'), lambda: os.chmod(name, 0o777)):\n"
        "        try:\n            act()\n        except OSError:\n            pass\n"
        f"try:\n    os.rename({str(task.app / 'tests')!r}, {str(task.app / 'gone')!r})\nexcept OSError:\n    pass\n"
    )
    task.write("src/calc/__init__.py", code + WRONG)
    return "test_failed"


def lay_a_folder_in_the_way(task: Task) -> str:
    task.write("tests/test_add.py/deep/er/file", "")
    return "test_failed"


def lay_links_in_the_way(task: Task) -> str:
    victim = task.root / "victim.py"
    victim.write_text(PASSING)
    (task.app / "tests/test_add.py").symlink_to(victim)
    (task.app / "tests/test_old.py").unlink()
    (task.app / "tests/test_old.py").symlink_to("../conftest.py")
    task.write("elsewhere/test_add.py", PASSING)
    return "test_failed"


def put_a_link_in_place_of_the_folder(task: Task) -> str:
    (task.app / "tests").rename(task.app / "mine")
    (task.app / "tests").symlink_to("mine")
    return "test_failed"


def delete_the_tests(task: Task) -> str:
    (task.app / "tests/test_old.py").unlink()
    (task.app / "conftest.py").unlink()
    return "test_failed"


def lay_a_socket_and_a_way_out(task: Task) -> str:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(task.app / "socket"))
    os.mkfifo(task.app / "src" / "fifo")
    (task.app / "out").symlink_to("/etc")
    (task.app / "climb").symlink_to("src/../../..")
    (task.root / "victim").write_text("secret")
    os.link(task.root / "victim", task.app / "stolen")
    return "test_failed"


def loop_for_ever(task: Task) -> str:
    task.write("src/calc/__init__.py", "import signal\nsignal.alarm(0)\nwhile True:\n    pass\n")
    return "timeout"


ATTACKS: list[Callable[[Task], str]] = [
    exit_at_import,
    forge_standard_output,
    leave_by_pytest_exit,
    write_into_the_channel,
    skip_in_the_function,
    hook_in_conftest,
    own_pytest_configuration,
    shadow_the_runner,
    plant_startup_files,
    replace_the_hidden_tests_at_import,
    lay_a_folder_in_the_way,
    lay_links_in_the_way,
    put_a_link_in_place_of_the_folder,
    delete_the_tests,
    lay_a_socket_and_a_way_out,
    loop_for_ever,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_attack_is_0(task: Task, attack: Callable[[Task], str]) -> None:
    reason = attack(task)
    result = task.grade(timeout_sec=2 if attack is loop_for_ever else 60)
    assert result.reward == 0, result.details
    assert result.exit_code == 0
    assert reason in result.reasons, result.details
    if "report_incomplete" not in result.reasons:
        assert result.details["pass_to_pass"] == {"passed": 0 if attack is skip_in_the_function else 1, "total": 1}
    assert (task.app / "tests/test_add.py").read_text() == HIDDEN_TEST
    assert (task.app / "tests/test_old.py").read_text() == OLD_TEST
    assert not (task.app / "tests").is_symlink()


def test_a_right_solution_survives_the_policy(task: Task) -> None:
    for plant in (shadow_the_runner, plant_startup_files, hook_in_conftest, own_pytest_configuration):
        plant(task)
    task.write("src/calc/__init__.py", RIGHT)
    result = task.grade()
    assert result.reward == 1, result.details


def test_a_daemon_cannot_touch_the_verdict(task: Task, subject_uid: int) -> None:
    code = (
        "import os, signal, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        for number in range(1, 32):\n            try:\n"
        "                signal.signal(number, signal.SIG_IGN)\n            except (OSError, ValueError):\n                pass\n"
        "        while True:\n            try:\n"
        f"                open({str(task.out / 'new')!r}, 'w').write('{{\"reward\": 1}}')\n"
        f"                os.replace({str(task.out / 'new')!r}, {str(task.out / 'reward.json')!r})\n"
        "                os.fork() or os.setsid()\n                time.sleep(0.02)\n"
        "            except OSError:\n                pass\n"
        "    os._exit(0)\n"
    )
    task.write("src/calc/__init__.py", code + WRONG)
    result = task.grade()
    assert (result.reward, result.reasons) == (0, ["test_failed"])
    assert living(subject_uid) == []


def test_a_daemon_that_kills_everything_of_its_user_is_ended(task: Task, subject_uid: int) -> None:
    code = (
        "import os, signal\nif os.fork() == 0:\n    os.setsid()\n    while True:\n        try:\n"
        "            os.kill(-1, signal.SIGKILL)\n        except OSError:\n            pass\nsignal.pause()\n"
    )
    task.write("src/calc/__init__.py", code + WRONG)
    result = task.grade()
    assert result.reward == 0
    assert "killed" in result.reasons
    assert living(subject_uid) == []


def test_the_subject_reaches_neither_grader_nor_spec(task: Task) -> None:
    tests = task.root / "tests"
    tests.chmod(0o777)
    for path in tests.rglob("*"):
        path.chmod(0o777)
    code = (
        f"import os\nfor name in ('spec.json', 'grader/verdict.py', 'hidden/tests/test_add.py'):\n"
        f"    try:\n        open({str(tests)!r} + '/' + name, 'w').write('')\n    except OSError:\n        pass\n"
    )
    before = {path: path.read_bytes() for path in tests.rglob("*") if path.is_file()}
    task.write("src/calc/__init__.py", code + WRONG)
    assert task.grade().reward == 0
    assert {path: path.read_bytes() for path in before} == before
    assert (tests / "spec.json").read_text() == task.spec.to_json()


@pytest.mark.parametrize("plant", ["file", "folder", "link", "linked folder"])
def test_a_planted_reward_is_replaced_and_no_link_followed(task: Task, plant: str) -> None:
    victim = task.root / "victim"
    victim.mkdir()
    (victim / "reward.json").write_text('{"reward": 1}')
    reward = task.out / "reward.json"
    if plant == "file":
        reward.write_text('{"reward": 1}')
    elif plant == "folder":
        (reward / "deep").mkdir(parents=True)
    elif plant == "link":
        reward.symlink_to(victim / "reward.json")
    else:
        task.out.rmdir()
        task.out.symlink_to(victim)
    assert task.grade().reward == 0
    assert (victim / "reward.json").read_text() == '{"reward": 1}'
    assert not task.out.is_symlink() and not reward.is_symlink()


def test_no_reward_only_when_the_machine_or_the_task_is_at_fault(task: Task) -> None:
    task.write("src/calc/__init__.py", RIGHT)
    (task.out / "reward.json").write_text('{"reward": 1}')
    for changes in ({"python": "/nowhere/python"}, {"subject_user": "nobody-of-this-name"}, {"subject_user": "0"}):
        result = task.grade(**changes)
        assert (result.reward, result.exit_code, result.reasons) == (None, 2, ["infrastructure"])
        assert not (task.out / "reward.txt").exists()
    broken = task.grade(environment={"PYTHONHOME": "/nowhere"})
    assert (broken.reward, broken.exit_code) == (None, 2)
    assert broken.reasons[-1] == "infrastructure"
    (task.root / "tests/hidden/tests/test_add.py").write_text(PASSING)
    result = task.grade()
    assert (result.reward, result.exit_code) == (None, 2)
    assert "test_add.py" in str(result.details["infrastructure"])


def test_a_missing_workspace_is_the_submissions_fault(task: Task) -> None:
    task.app.rename(task.root / "gone")
    task.app.symlink_to(task.root / "gone")
    result = task.grade()
    assert (result.reward, result.reasons) == (0, ["submission_unusable"])


GRADE_B = pytest.mark.xfail(
    strict=True, reason="grade B: report and submission share a process; twins, issue on verifiers"
)

FORGE_REPORTS = (
    "import _pytest.reports as reports\ninner = reports.TestReport.from_item_and_call.__func__\n\n\n"
    "def forged(cls, item, call):\n    if 'test_add' in item.nodeid:\n        call.excinfo = None\n"
    "    return inner(cls, item, call)\n\n\nreports.TestReport.from_item_and_call = classmethod(forged)\n"
)
EQUAL_TO_ALL = (
    "class Equal:\n    def __eq__(self, other):\n        return True\n\n\n"
    "def add(a, b):\n    return Equal()\n\n\ndef double(a):\n    return 2 * a\n"
)
READ_THE_ANSWER = (
    "import sys\n\n\ndef add(a, b):\n    return sys._getframe(1).f_locals['expected']\n\n\n"
    "def double(a):\n    return 2 * a\n"
)
FIND_THE_REPORTER = (
    "import gc\nfor thing in gc.get_objects():\n    if type(thing).__name__ == 'Channel':\n        inner = thing.send\n\n"
    "        def send(event, **values):\n            if 'test_add' in values.get('id', ''):\n"
    "                values.update(outcome='passed', kind=None) if event == 'phase' else None\n"
    "            inner(event, **values)\n\n        thing.send = send\n"
)


@GRADE_B
@pytest.mark.parametrize(
    "code",
    [FORGE_REPORTS + WRONG, EQUAL_TO_ALL, READ_THE_ANSWER, FIND_THE_REPORTER + WRONG],
    ids=["patch TestReport for the tests only", "equal to everything", "read the caller's frame", "find the reporter"],
)
def test_forgery_inside_the_process_is_0(task: Task, code: str) -> None:
    task.write("src/calc/__init__.py", code)
    assert task.grade().reward == 0


def test_forging_every_report_is_told_by_the_sentinels(task: Task) -> None:
    task.write("src/calc/__init__.py", FORGE_REPORTS.replace("'test_add' in item.nodeid", "True") + WRONG)
    result = task.grade()
    assert (result.reward, result.reasons) == (0, ["sentinel_silent"])
