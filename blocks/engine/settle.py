"""After a command: what the kernel ended for lack of memory, and processes that outlived their time."""

import re
import time

from docker import APIClient

from blocks.engine.faults import ContainerEndedError, engine_faults
from blocks.errors import EnvmillError

_OOM_FILES = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""cgroup v2 and v1; both have a line `oom_kill N`."""


def oom_kills(api: APIClient, container_id: str) -> int:
    """How often the kernel ended a process of the container for its memory limit; 0 where nobody can tell."""
    try:
        with engine_faults("looking at a container"):
            state = api.inspect_container(container_id)["State"]
        if not state["Running"]:
            return int(state["OOMKilled"])
        text = _said(api, container_id, ["/bin/cat", *_OOM_FILES])
    except ContainerEndedError:
        return 0
    return sum(int(count) for count in re.findall(r"^oom_kill (\d+)$", text, re.MULTILINE))


def end_stragglers(api: APIClient, container_id: str, user: str, deadline_sec: int) -> bool:
    """End every process but the container's init. False where some are left, or cannot be told.

    kill(-1) as an unprivileged user reaches all of that user's processes and not the init, which is root's. As root it
    would reach the init's child too, so that root's stragglers are left to the caller, who ends the container.
    """
    try:
        for _ in range(5):
            if not _strangers(api, container_id, deadline_sec):
                return True
            if user.split(":")[0] in ("0", "root"):
                return False
            _said(api, container_id, ["/bin/sh", "-c", "kill -KILL -1"], user=user)
            time.sleep(0.1)
        return not _strangers(api, container_id, deadline_sec)
    except EnvmillError:
        return False


def _strangers(api: APIClient, container_id: str, deadline_sec: int) -> list[str]:
    """Processes other than the init and root's `sleep` below it."""
    with engine_faults("listing processes"):
        init = str(api.inspect_container(container_id)["State"]["Pid"])
        rows = api.top(container_id, ps_args="-eo pid,ppid,uid,args")["Processes"]
    own = ("0", f"/bin/sleep {deadline_sec}")
    return [pid for pid, parent, uid, args in rows if pid != init and not (parent == init and (uid, args) == own)]


def _said(api: APIClient, container_id: str, argv: list[str], user: str = "0:0") -> str:
    with engine_faults("asking in a container"):
        made = api.exec_create(container_id, argv, user=user, stderr=False)
        return bytes(api.exec_start(made["Id"])).decode("utf-8", errors="replace")
