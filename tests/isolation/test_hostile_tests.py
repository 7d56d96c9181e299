"""Tests of a repository that attack the machine: contained, ended, recorded; the next candidate is built as ever."""

import pytest

from blocks.records import Outcome, ReasonCode
from tests.isolation.conftest import Dig
from tests.tasks.projects import FAIL_TO_PASS, PASS_TO_PASS, src_layout

pytestmark = [pytest.mark.engine, pytest.mark.slow]

PROBES = r"""
import os, socket, stat, subprocess
from pathlib import Path

import pytest

SITE = "/opt/venv/lib/python3.11/site-packages"


def reaches(host, port):
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("host", ["169.254.169.254", "172.17.0.1", "192.0.2.1", "172.17.0.2", "10.0.0.1", "8.8.8.8"])
def test_nobody_answers(host):
    assert not any(reaches(host, port) for port in (22, 53, 80, 443, 2375, 4200))


def test_no_names():
    with pytest.raises(OSError):
        socket.getaddrinfo("host.docker.internal", 80)
    assert [name for _, name in socket.if_nameindex()] == ["lo"]


def test_listening_is_its_own_business():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("0.0.0.0", 0)):
        assert reaches("127.0.0.1", server.getsockname()[1])


def test_no_engine():
    assert not [path for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd") if os.path.exists(path)]


@pytest.mark.parametrize("path", ["/etc/passwd", SITE + "/pytest/__init__.py", "/usr/bin/env", "/opt/envmill/grader/command.py"])
def test_nothing_outside_is_written(path):
    with pytest.raises(OSError):
        open(path, "ab").close()
    with pytest.raises(OSError):
        Path(path).rename(path + "2")


def test_no_way_up():
    subprocess.run(["cp", "/usr/bin/id", "id"], check=True)
    os.chmod("id", 0o6755)
    assert subprocess.run(["./id", "-u"], capture_output=True, text=True).stdout == "1000\n"
    status = Path("/proc/self/status").read_text()
    assert "CapBnd:\t0000000000000000" in status and "NoNewPrivs:\t1" in status
    assert not subprocess.run(["su", "-c", "id"], capture_output=True, stdin=subprocess.DEVNULL).returncode == 0
    with pytest.raises(OSError):
        os.kill(1, 9)
    with pytest.raises(OSError):
        os.mknod("disk", 0o600 | stat.S_IFBLK, os.makedev(8, 0))


def test_no_other_processes():
    names = {path.read_bytes() for path in Path("/proc").glob("[0-9]*/comm")}
    assert not {name for name in names if name.startswith((b"dockerd", b"containerd", b"systemd"))}


def test_no_kernel_files():
    for path in ("/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/proc/sys/kernel/core_pattern"):
        with pytest.raises(OSError):
            open(path, "w").close()
"""


def test_probes_reach_nothing(dig: Dig) -> None:
    """Every probe passes where nothing can be reached, so all of them are pass-to-pass."""
    found = dig(src_layout(tests__test_probes=PROBES))
    assert found.row.status is Outcome.PASSED, found.message
    assert found.before is not None and found.comparison is not None
    failed = {test: result.detail for test, result in found.before.results.items() if "probes" in test}
    assert len(failed) == 16
    assert {test for test in failed if test not in found.comparison.pass_to_pass} == set()


def hostile(body: str) -> str:
    """A test file that does this when it is run, sorted after the honest ones."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"import os, signal, socket, subprocess, sys, threading, time\n\n\ndef test_hostile():\n{lines}"


ENDINGS = {
    "a fork bomb": ("while True:\n    try: os.fork()\n    except OSError: pass", ReasonCode.TESTS_TIMED_OUT),
    "ignoring signals": (
        "for number in range(1, 32):\n"
        "    if number not in (9, 19): signal.signal(number, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "while True: time.sleep(1)",
        ReasonCode.TESTS_TIMED_OUT,
    ),
    "a full disk": (
        "with open('/tmp/big', 'wb') as file:\n"
        "    while True: file.write(b'x' * (1 << 20)); file.flush(); time.sleep(0.01)",
        ReasonCode.LIMIT_EXCEEDED,
    ),
    "an endless log": (
        "while True: os.write(1, b'y' * 65536)",
        ReasonCode.TESTS_TIMED_OUT,
    ),
    "ending its parents": (
        "for pid in sorted(int(name) for name in os.listdir('/proc') if name.isdigit()):\n"
        "    if pid not in (1, os.getpid()):\n"
        "        try: os.kill(pid, signal.SIGKILL)\n"
        "        except OSError: pass\n"
        "os.kill(-1, signal.SIGKILL)",
        ReasonCode.TESTS_NOT_COLLECTED,
    ),
    "a report of its own": (
        "open('/tmp/vector.json', 'w').write('{\"results\": 3}')\nos.kill(-1, signal.SIGKILL)",
        ReasonCode.TESTS_NOT_COLLECTED,
    ),
    "a report without end": (
        "os.truncate(os.open('/tmp/vector.json', os.O_CREAT | os.O_WRONLY), 1 << 40)\nos.kill(-1, signal.SIGKILL)",
        ReasonCode.TESTS_NOT_COLLECTED,
    ),
}


@pytest.mark.parametrize("what", ENDINGS)
def test_ended_and_recorded(dig: Dig, what: str) -> None:
    body, reason = ENDINGS[what]
    found = dig(src_layout(tests__test_zz=hostile(body)))
    assert (found.row.status, found.row.reason_code) == (Outcome.FAILED, reason), found.message
    assert 0 < len(found.message) < 3000
    assert len(found.after.log_tail if found.after else "") < 100_000


MEMORY = hostile("hog = []\nwhile True: hog.append(bytearray(os.urandom(1 << 20)) * 8)")
LEFT = hostile("if os.fork() == 0:\n    os.setsid()\n    while True: open('/tmp/late', 'ab').write(b'x')")


@pytest.mark.parametrize("body", [MEMORY, LEFT], ids=["a memory hog", "a process left behind"])
def test_only_itself_fails(dig: Dig, body: str) -> None:
    """Where the rest of the suite can go on, it does; or its end is recorded."""
    found = dig(src_layout(tests__test_zz=body))
    if found.row.status is Outcome.PASSED:
        assert found.comparison is not None
        assert set(FAIL_TO_PASS) <= set(found.comparison.fail_to_pass)
    else:
        assert (found.row.status, found.row.reason_code) == (Outcome.FAILED, ReasonCode.LIMIT_EXCEEDED), found.message
        assert "memory" in found.message


def test_the_next_candidate_is_built_as_ever(dig: Dig) -> None:
    found = dig(src_layout())
    assert found.row.status is Outcome.PASSED, found.message
    assert found.comparison is not None
    assert (found.comparison.fail_to_pass, found.comparison.pass_to_pass) == (FAIL_TO_PASS, PASS_TO_PASS)
