"""After a command: what the kernel ended for lack of memory, and processes that outlived their time."""

import re
import sys
import time

from docker import APIClient

from blocks.engine.faults import engine_faults
from blocks.errors import EnvmillError, PermanentError

_OOM_FILES = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""cgroup v2 and v1; both have a line `oom_kill N`."""


_LISTING = 'echo $$; for p in /proc/[0-9]*; do read -r line < $p/stat && echo "${p#/proc/} $line"; done'
"""The number of the shell itself, then for each process its number and the first line of its stat (proc(5))."""


def oom_kills(api: APIClient, container_id: str) -> int:
    """How often the kernel ended a process of the container for its memory limit; 0 where nobody can tell."""
    try:
        with engine_faults("looking at a container"):
            state = api.inspect_container(container_id)["State"]
        if not state["Running"]:
            return int(state["OOMKilled"])
        text = _said(api, container_id, ["/bin/cat", *_OOM_FILES])
    except EnvmillError:  # also where the container has as many processes as it may
        return 0
    return sum(int(count) for count in re.findall(r"^oom_kill (\d+)$", text, re.MULTILINE))


def free_bytes(api: APIClient, container_id: str) -> int | None:
    """Room left on the disk that the container's files are on; None where nobody can tell."""
    try:
        blocks, size = _said(api, container_id, ["/usr/bin/stat", "-f", "-c", "%a %S", "/"]).split()
        return int(blocks) * int(size)
    except (EnvmillError, ValueError):
        return None


def end_stragglers(api: APIClient, container_id: str, user: str) -> bool:
    """End every process but the container's init. False where some are left, or cannot be told.

    kill(-1) as an unprivileged user reaches all of that user's processes and not the init, which is root's. As root it
    would reach the init's child too, so that root's stragglers are left to the caller, who ends the container.
    """
    is_root = user.split(":")[0] in ("0", "root")
    try:
        for _ in range(1 if is_root else 5):
            if not strangers(api, container_id, "" if is_root else "kill -KILL -1; ", user):
                return True
            time.sleep(0.1)
        return not strangers(api, container_id)
    except EnvmillError:
        return False


def strangers(api: APIClient, container_id: str, first: str = "", user: str = "0:0") -> list[int]:
    """Processes other than the init and its first child, which sleeps until the deadline; as the container numbers them.

    Asked from inside, by shell built-ins only: the engine's own list needs `ps` on its machine. A start time cannot be
    forged, so that the oldest process after the init is the sleeper.
    """
    said = _said(api, container_id, ["/bin/sh", "-c", first + _LISTING], user)
    lines = said.splitlines()
    if not lines:
        raise PermanentError("a container cannot list its processes")
    born: dict[int, int] = {}
    for line in lines[1:]:
        number, fields = line.split(" ", 1)[0], line[line.rfind(")") + 2 :].split()
        is_whole = len(fields) > 19  # a name with a line break in it cuts the line
        if number not in ("1", lines[0]) and not (is_whole and fields[0] == "Z"):
            born[int(number)] = int(fields[19]) if is_whole else sys.maxsize
    return sorted(born, key=lambda pid: (born[pid], pid))[1:]


def _said(api: APIClient, container_id: str, argv: list[str], user: str = "0:0") -> str:
    with engine_faults("asking in a container"):
        made = api.exec_create(container_id, argv, user=user, stderr=False)
        return bytes(api.exec_start(made["Id"])).decode("utf-8", errors="replace")
