"""Starts one command as the subject, watches it, and leaves no process of the subject behind."""

from __future__ import annotations

import os
import resource
import selectors
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from .account import Account, GraderError
from .processes import adopt_orphans, become, end_all, renounce_privileges

MAX_REPORT_BYTES = 256 << 20
LOG_TAIL_BYTES = 8 << 10
PIPE_BYTES = 4096
"""What surely fits into a pipe that nobody reads yet (pipe(7): 65536, or one page for a user with many pipes)."""
END_GRACE_SEC = 5.0
"""How long a process may go on after its end record (threads that were never joined, exit handlers)."""


@dataclass(frozen=True)
class Finished:
    """How the command ended."""

    exit_code: int | None
    """Negative: ended by that signal. None: the grader ended it."""
    timed_out: bool
    report: bytes
    log_tail: str
    overflowed: bool
    """More was reported than MAX_REPORT_BYTES; the rest was read and dropped."""
    all_ended: bool
    seconds: float


@dataclass
class _Sink:
    """Takes what comes out of a pipe: all of it up to a limit, or (`tail`) the end of it."""

    limit: int
    tail: bool
    data: bytearray = field(default_factory=bytearray)
    overflowed: bool = False

    def take(self, chunk: bytes) -> None:
        if self.tail:
            self.data += chunk
            if len(self.data) > 8 * self.limit:
                del self.data[: -self.limit]
        elif len(self.data) + len(chunk) > self.limit:
            self.overflowed = True
        else:
            self.data += chunk

    def ends_with(self, start: bytes) -> bool:
        return bytes(self.data[-200:]).rstrip(b"\n").rpartition(b"\n")[2].startswith(start)


def run_as_subject(
    account: Account,
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    orders: bytes,
    end_mark: bytes,
    timeout_sec: float,
    is_script: bool = False,
) -> Finished:
    """Run `argv` plus the number of the report descriptor, with `orders` on stdin.

    The report is a pipe that only this command inherits: it has no name. A report line that starts with `end_mark` says
    that the command is done; it then has END_GRACE_SEC to exit. `is_script`: a tool that can neither pass descriptors on nor
    close its stdin: it may open the report once more through /proc, and can read the orders (PIPE_BYTES at most) only once.

    Raises:
        GraderError: the command cannot be started at all.
    """
    adopt_orphans()
    report_in, report_out = os.pipe()
    log_in, log_out = os.pipe()
    if is_script and account.switch:
        os.fchown(report_out, account.uid, account.gid)
    with _orders(orders, once=is_script) as stdin:
        started = time.monotonic()
        try:
            pid = os.fork()
        except OSError as error:
            raise GraderError(f"cannot start a process: {error}") from None
        if pid == 0:
            _become_command(account, [*argv, str(report_out)], cwd, environment, (stdin.fileno(), log_out, report_out))
    os.close(report_out)
    os.close(log_out)
    report = _Sink(MAX_REPORT_BYTES, tail=False)
    log = _Sink(LOG_TAIL_BYTES, tail=True)
    with selectors.DefaultSelector() as selector:
        for fd, sink in ((report_in, report), (log_in, log)):
            os.set_blocking(fd, False)
            selector.register(fd, selectors.EVENT_READ, sink)
        exit_code, timed_out = _watch(pid, selector, report, end_mark, started + timeout_sec)
        all_ended = end_all(account)
        _drain(selector)
    os.close(report_in)
    os.close(log_in)
    tail = bytes(log.data[-LOG_TAIL_BYTES:]).decode("utf-8", "replace")
    seconds = time.monotonic() - started
    return Finished(exit_code, timed_out, bytes(report.data), tail, report.overflowed, all_ended, seconds)


@contextmanager
def _orders(orders: bytes, *, once: bool) -> Iterator[IO[bytes]]:
    """A file to read the orders from; `once`: a pipe, of which nothing is left when they have been read.

    What stays readable at its beginning would give the nonce to whoever reads the descriptor again.
    """
    if not once:
        with tempfile.TemporaryFile() as file:
            file.write(orders)
            file.seek(0)
            yield file
        return
    if len(orders) > PIPE_BYTES:
        raise GraderError(f"orders of {len(orders)} bytes do not fit into a pipe")
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        with os.fdopen(writing, "wb", buffering=0) as end:
            end.write(orders)
        yield pipe


def _watch(
    pid: int, selector: selectors.BaseSelector, report: _Sink, end_mark: bytes, deadline: float
) -> tuple[int | None, bool]:
    """Until the command exits, has said its last word, or is out of time; then it is dead and waited for."""
    while True:
        _read(selector, 0.05)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), False
        now = time.monotonic()
        if report.ends_with(end_mark):
            deadline, end_mark = min(deadline, now + END_GRACE_SEC), b"\0"
        if now > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None, end_mark != b"\0"


def _read(selector: selectors.BaseSelector, timeout_sec: float) -> bool:
    """Take what is there; False when there was nothing."""
    ready = selector.select(timeout_sec)
    for key, _ in ready:
        chunk = os.read(key.fd, 1 << 16)
        if chunk:
            key.data.take(chunk)
        else:
            selector.unregister(key.fd)
    return bool(ready)


def _drain(selector: selectors.BaseSelector) -> None:
    limit = time.monotonic() + 5.0
    while selector.get_map() and time.monotonic() < limit and _read(selector, 0.05):
        pass


def _become_command(
    account: Account, argv: list[str], cwd: Path, environment: Mapping[str, str], fds: tuple[int, int, int]
) -> None:
    """In the forked child: never returns."""
    stdin, log, report = fds
    try:
        os.setsid()
        os.dup2(stdin, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.set_inheritable(report, True)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o022)
        _die_first()
        become(account)
        renounce_privileges()
        os.chdir(cwd)
        os.execve(argv[0], argv, dict(environment))
    except OSError as error:
        os.write(2, f"cannot start {argv[0]}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _die_first() -> None:
    """When memory runs out, the kernel is to end the subject and not the grader."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    except OSError:
        return
