"""Who started a container: the process is named so that a reaper can tell whether it still lives."""

import hashlib
import os
import socket
from pathlib import Path

from blocks.records import Record


class Owner(Record):
    """A process of one machine. A process id is used again, its start time (clock ticks since boot) is not."""

    host: str
    """A digest of the machine's name and id: labels end up in images, the name of somebody's machine should not."""
    pid: int
    start_ticks: int
    """0 on machines without /proc; then only the process id is asked."""
    flow_run_id: str | None = None

    @classmethod
    def current(cls, flow_run_id: str | None = None) -> "Owner":
        """This process."""
        pid = os.getpid()
        return cls(host=_host(), pid=pid, start_ticks=_start_ticks(pid) or 0, flow_run_id=flow_run_id)

    def is_dead(self) -> bool:
        """True only where it is certain: same machine, and the process is gone or another one has its number."""
        if self.host != _host():
            return False
        if Path("/proc/self/stat").exists() and self.start_ticks:
            return _start_ticks(self.pid) != self.start_ticks
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False


def _host() -> str:
    machine = Path("/etc/machine-id")
    name = socket.gethostname() + (machine.read_text(encoding="utf-8") if machine.is_file() else "")
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def _start_ticks(pid: int) -> int | None:
    """Field 22 of /proc/<pid>/stat (proc(5)); None for no such process, and for one dead but not yet waited for."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])
