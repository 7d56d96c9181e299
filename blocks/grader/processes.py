"""Ends every process of the subject: daemons, double forks, fork bombs."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from .account import Account

_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
PATIENCE_SEC = 30.0


def become(account: Account) -> None:
    """Turn this process into the subject's, for good. For a forked child only."""
    if account.switch:
        os.setgroups([])
        os.setgid(account.gid)
        os.setuid(account.uid)
        if os.getuid() != account.uid or os.geteuid() != account.uid or os.getgroups():
            os._exit(126)


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process, where the system can (Linux 3.4+ and ctypes)."""
    _prctl(_PR_SET_CHILD_SUBREAPER)


def renounce_privileges() -> None:
    """No set-id program will lift this process or its children any more, where the system can."""
    _prctl(_PR_SET_NO_NEW_PRIVS)


def end_all(account: Account) -> bool:
    """End every process of the subject; False when some are still there after PATIENCE_SEC.

    As root: kill(-1) by a child that has become the subject, which no fork escapes, and those still seen one by one,
    because a daemon that kills everything of its user may end that child first; again until /proc shows none.
    Not root: everything of ours that descends from this process.
    """
    limit = time.monotonic() + PATIENCE_SEC
    while True:
        if account.switch:
            _kill_as_subject(account)
            for pid in _living(account.uid):
                _kill(pid)
        else:
            for pid in _descendants():
                _kill(pid)
        _reap()
        if not (_living(account.uid) if account.switch else _descendants()):
            _reap()
            return True
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)


def _kill_as_subject(account: Account) -> None:
    try:
        pid = os.fork()
    except OSError:
        for seen in _living(account.uid):
            _kill(seen)
        return
    if pid == 0:
        try:
            become(account)
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _reap() -> None:
    """Collect adopted zombies. The caller has already waited for the child it started."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _living(uid: int) -> list[int]:
    return [pid for pid, status in _processes() if str(uid) in status.get("Uid", "").split() and _is_alive(status)]


def _descendants() -> list[int]:
    table = dict(_processes())
    found, front = [], {os.getpid()}
    while front:
        front = {pid for pid, status in table.items() if int(status.get("PPid", "0")) in front}
        found += [pid for pid in front if _is_alive(table[pid])]
    return found


def _is_alive(status: dict[str, str]) -> bool:
    """A zombie is gone, unless only its first thread is."""
    return status.get("State", "")[:1] not in ("Z", "X") or status.get("Threads", "1") not in ("0", "1")


def _processes() -> list[tuple[int, dict[str, str]]]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            lines = (folder / "status").read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        found.append((int(folder.name), {key: value.strip() for key, _, value in (x.partition(":") for x in lines)}))
    return found


def _prctl(option: int) -> None:
    try:
        import ctypes
    except ImportError:
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, 1, 0, 0, 0)
