"""`envmill up` on ports that are not the usual ones: a person sees the UI, and the links to logs lead somewhere."""

import signal
import socket
import time
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.flows.browser import browsing
from tests.flows.command import Command, interrupt, wait_until_gone

pytestmark = [pytest.mark.prefect, pytest.mark.slow]


def free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


def test_up(tmp_path: Path) -> None:
    port, log_port = free_ports()
    ui, logs = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{log_port}"
    command = Command(tmp_path / "home", {"ENVMILL_LOG_URL": logs})
    with command.started("up", "--port", str(port)) as process:
        deadline = time.monotonic() + 120
        while not answers(f"{ui}/api/health"):
            assert process.poll() is None and time.monotonic() < deadline, process.communicate()
            time.sleep(0.2)
        with browsing(tmp_path) as page:
            page.goto(f"{ui}/")
            expect(page.get_by_text("Switch to V2 UI")).to_be_visible()
            page.goto(f"{ui}/runs")
            expect(page.get_by_text("Run a task or flow to get started").first).to_be_visible()
            assert page.get_by_text("Can't connect to Server API").count() == 0
        answer = httpx.get(f"{logs}/candidates/c-1/archaeology/1/archaeology.log")
        assert (answer.status_code, answer.text) == (404, "No such log; its candidate may have been withdrawn.\n")
        out, _ = interrupt(process, signal.SIGINT)
    assert f"Logs of file://{tmp_path}/home/lake: {logs}" in out
    wait_until_gone(tmp_path / "home")
    assert not answers(logs)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code < 500
    except httpx.HTTPError:
        return False
