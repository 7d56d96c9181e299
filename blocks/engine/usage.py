"""What containers took: how many were started, and the CPU time of their processes."""

from threading import Lock

from docker import APIClient

from blocks.engine.faults import engine_faults
from blocks.errors import EnvmillError


class Usage:
    """Counts of one connection; shared by threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.containers = 0
        self.cpu_seconds = 0.0
        """Of containers that have been removed. One that was ended beforehand (time, memory, disk) tells none any more."""

    def started(self) -> None:
        """One more container."""
        with self._lock:
            self.containers += 1

    def ended(self, seconds: float) -> None:
        """One is about to go, after this much CPU time."""
        with self._lock:
            self.cpu_seconds += seconds


def cpu_seconds(api: APIClient, container_id: str) -> float:
    """CPU time of all processes a running container has had; 0 where it has ended."""
    try:
        with engine_faults("asking what a container took"):
            told = api.stats(container_id, stream=False, one_shot=True)
    except EnvmillError:
        return 0.0
    return int(told["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9
