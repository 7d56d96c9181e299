"""Why a command must be ended from outside: its time is over and it did not end, or the container wrote too much."""

import time
from enum import StrEnum

from docker import APIClient

from blocks.engine.faults import engine_faults

GRACE_SEC = 5.0
"""How long after its deadline a command may take to be ended from inside before its container is ended."""

SIZE_INTERVAL_SEC = 2.0


class Ending(StrEnum):
    """What the watchdog ended a container for."""

    TIME = "time"
    WRITTEN = "written"


class Watch:
    """The clock and the size of the writable layer, looked at while a command runs."""

    def __init__(self, api: APIClient, container_id: str, *, timeout_sec: float, written_bytes: int) -> None:
        self._api = api
        self._container_id = container_id
        self._written_bytes = written_bytes
        self.started = time.monotonic()
        self._deadline = self.started + timeout_sec
        self._next_size = self.started + SIZE_INTERVAL_SEC

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started

    @property
    def time_is_over(self) -> bool:
        """Whether the command has had its time."""
        return time.monotonic() >= self._deadline

    def look(self) -> Ending | None:
        """Cheap most of the time: the size is asked for every few seconds only."""
        now = time.monotonic()
        if now >= self._deadline + GRACE_SEC:
            return Ending.TIME
        if now < self._next_size:
            return None
        wrote = written_size(self._api, self._container_id)
        self._next_size = time.monotonic() + max(SIZE_INTERVAL_SEC, 4 * (time.monotonic() - now))
        return Ending.WRITTEN if wrote > self._written_bytes else None


def written_size(api: APIClient, container_id: str) -> int:
    """Bytes in the container's writable layer."""
    with engine_faults("asking how much a container wrote"):
        rows = api.containers(all=True, size=True, filters={"id": container_id})
    return int(rows[0].get("SizeRw") or 0) if rows else 0
