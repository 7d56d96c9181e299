"""A Prefect server for one run, where none is configured: on loopback, its data under `<home>/prefect`.

The recorder of task runs gets large batches: with the default of one, task runs show up late and are lost when the server
stops. So the server is stopped only when every task run that ended is recorded as ended. It is in a session of its own,
so that Ctrl-C reaches it last, and tied to this process by a pipe, so that it ends also where this process is killed.
"""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx

from blocks.errors import ServiceMissingError
from blocks.settings import Settings

READY_SEC = 120
_PAGE = 200
RECORDED_SEC = 60
_SERVER = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",  # it asks an analytics service, whatever is set above
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}


@dataclass(frozen=True)
class Server:
    """A server that answers. `started` tells whether it is ours to stop."""

    api_url: str
    started: bool


def server_environment(home: Path, port: int) -> dict[str, str]:
    """Environment of a server, and of a client that opens the UI on the same data later.

    The UI must be told where its API is: it asks port 4200 otherwise, on whatever port it is served.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_LOGGING_")}
    own = {"PREFECT_HOME": str((home / "prefect").absolute()), "PREFECT_UI_API_URL": f"http://127.0.0.1:{port}/api"}
    return {**kept, **_SERVER, **own}


def serve_argv(port: int, *, module: str = "prefect") -> list[str]:
    """Command line of a server on loopback. Module `flows.tether` ends it with its standard input."""
    return [sys.executable, "-m", module, "server", "start", "--host", "127.0.0.1", "--port", str(port)]


def configured_url(settings: Settings) -> str | None:
    """The server somebody configured, if any."""
    return settings.prefect_api_url or os.environ.get("PREFECT_API_URL")


@contextlib.contextmanager
def prefect_server(settings: Settings) -> Iterator[Server]:
    """The configured server, or one of our own for the duration.

    Raises:
        ServiceMissingError: the configured server does not answer, or our own does not come up in two minutes.
    """
    url = configured_url(settings)
    if url:
        if not _healthy(url):
            raise ServiceMissingError(f"Prefect server {url} does not answer; start it, or unset PREFECT_API_URL")
        yield Server(url, started=False)
        return
    port = _free_port()
    url = f"http://127.0.0.1:{port}/api"
    (settings.home / "prefect").mkdir(parents=True, exist_ok=True)
    log = settings.home / "prefect" / "server.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            serve_argv(port, module="flows.tether"),
            env=server_environment(settings.home, port),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            _await_ready(process, url, log)
            yield Server(url, started=True)
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def await_recorded(task_runs: Collection[UUID]) -> int:
    """Wait until the server has these task runs, each in a final state.

    Task runs reach the server as events, some time after they ended here.

    Returns:
        How many are not recorded after a minute; 0 is what it should be.
    """
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import TaskRunFilter, TaskRunFilterId

    missing = set(task_runs)
    deadline = time.monotonic() + RECORDED_SEC
    async with get_client() as client:
        while missing and time.monotonic() < deadline:
            asked = sorted(missing)[:_PAGE]
            runs = await client.read_task_runs(task_run_filter=TaskRunFilter(id=TaskRunFilterId(any_=asked)))
            recorded = {run.id for run in runs if run.state is not None and run.state.is_final()}
            missing -= recorded
            if not recorded:
                await asyncio.sleep(0.5)
    return len(missing)


def _await_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + READY_SEC
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServiceMissingError(f"the Prefect server ended with {process.returncode}; see {log}")
        if _healthy(url):
            return
        time.sleep(0.25)
    raise ServiceMissingError(f"the Prefect server did not answer within {READY_SEC} s; see {log}")


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
