"""Who holds something: a process, named so that others can tell for certain whether it still lives."""

import hashlib
import os
import socket
from pathlib import Path

from blocks.records import Record


class Owner(Record):
    """A process of one machine, told apart from a later one with the same number. Empty: this system does not say."""

    host: str
    """A digest of the machine's name and id: labels and leases travel, the name of somebody's machine should not."""
    boot_id: str
    pid_namespace: str
    pid: int
    start_ticks: int
    """Clock ticks from boot to its start; 0 where the system does not say."""
    flow_run_id: str | None = None

    @classmethod
    def current(cls, flow_run_id: str | None = None) -> "Owner":
        """This process."""
        return cls(
            host=_host(),
            boot_id=_read("/proc/sys/kernel/random/boot_id"),
            pid_namespace=_pid_namespace(),
            pid=os.getpid(),
            start_ticks=start_ticks(os.getpid()) or 0,
            flow_run_id=flow_run_id,
        )

    def is_dead(self) -> bool:
        """True only where it is certain: same machine, boot and pid namespace, and the process is gone or a zombie."""
        if (self.host, self.boot_id, self.pid_namespace) != (_host(), *_place()):
            return False
        if self.boot_id and self.start_ticks:
            return start_ticks(self.pid) != self.start_ticks
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False

    def same_process(self, other: "Owner") -> bool:
        """Whether both name one process, whatever flow run they name."""
        return self.model_copy(update={"flow_run_id": None}) == other.model_copy(update={"flow_run_id": None})

    @property
    def signature(self) -> str:
        """`<digest of host, boot and pid namespace>-<pid>-<start ticks>`: for names and labels."""
        place = hashlib.sha256(f"{self.host} {self.boot_id} {self.pid_namespace}".encode()).hexdigest()[:12]
        return f"{place}-{self.pid}-{self.start_ticks}"

    def __str__(self) -> str:
        return f"process {self.pid} on machine {self.host}"


def signs_dead(signature: str) -> bool:
    """True only where it is certain: the signature is of a process of this machine, boot and pid namespace, and it is gone."""
    here = Owner.current()
    place, *numbers = signature.split("-")
    if place != here.signature.split("-")[0] or len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        return False
    return here.model_copy(update={"pid": int(numbers[0]), "start_ticks": int(numbers[1])}).is_dead()


def start_ticks(pid: int) -> int | None:
    """Field 22 of /proc/<pid>/stat (proc(5)); None for no such process, and for one dead but not yet waited for."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return None if len(fields) < 20 or fields[0] in "ZX" else int(fields[19])


def _host() -> str:
    return hashlib.sha256((socket.gethostname() + _read("/etc/machine-id")).encode()).hexdigest()[:16]


def _place() -> tuple[str, str]:
    return _read("/proc/sys/kernel/random/boot_id"), _pid_namespace()


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
