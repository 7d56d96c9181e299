"""A real browser without a window, that speaks to this machine only."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import FloatRect, Page, sync_playwright

from tests.flows.command import ROOT

_FLAGS = (
    "--no-sandbox",  # as root Chromium has none; it loads nothing but pages of this machine
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
)


def find_browser() -> str:
    """Path of a browser; skips the test, with the reason, where there is none."""
    found = subprocess.run(
        [str(ROOT / "setup" / "browser.sh"), "--find"], capture_output=True, text=True, check=False, timeout=60
    )
    if found.returncode == 3:
        pytest.skip(found.stderr.strip())
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


@contextlib.contextmanager
def browsing(folder: Path) -> Iterator[Page]:
    """A page of a fresh browser; ends with a look into the browser's own network log, which also has what no page asked for.

    A context manager and no fixture: within it the thread has an event loop, which other tests make for themselves.
    """
    net_log = folder / "net.json"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(), args=[*_FLAGS, f"--log-net-log={net_log}"])
        try:
            page = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="dark").new_page()
            page.set_default_timeout(20_000)
            yield page
        finally:
            browser.close()
    asked = {str(event["params"]["url"]) for event in json.loads(net_log.read_text())["events"] if _asks(event)}
    assert asked, "the log says nothing: the check below would be none"
    assert {urlsplit(url).hostname for url in asked if url.startswith(("http", "ws"))} == {"127.0.0.1"}


def picture(page: Page, name: str, *, height: int = 900, left: int = 0, top: int = 0) -> None:
    """Keep what the page shows as `<name>.png` in the folder that ENVMILL_SCREENSHOTS names, if it names one.

    `left`, `top`: pixels that are left out, such as those of the menu.
    """
    folder = os.environ.get("ENVMILL_SCREENSHOTS")
    if folder:
        page.set_viewport_size({"width": 1280, "height": top + height})
        Path(folder).mkdir(parents=True, exist_ok=True)
        clip: FloatRect = {"x": left, "y": top, "width": 1280 - left, "height": height}
        page.screenshot(path=Path(folder) / f"{name}.png", animations="disabled", scale="css", clip=clip)


def _asks(event: dict[str, object]) -> bool:
    params = event.get("params")
    return isinstance(params, dict) and "url" in params
