"""The whole of a native run: copy, configure, build, test, report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from . import autotools, cmake, make, meson
from .outcome import Case
from .workshop import Workshop, say

ROOT = Path("/tmp/build")
"""Always the same place: paths get into what is built, and into what tests print."""

PASSED, FAILED, NONE = 0, 1, 5

SYSTEMS: Mapping[str, Callable[[Workshop], tuple[str, Iterable[Case]]]] = {
    "cmake": cmake.run,
    "meson": meson.run,
    "autotools": autotools.run,
    "make": make.run,
}
"""Each builds, and gives what could not be configured (empty: all could) and the cases as they come."""


class Reporter:
    """Sends records; inside/plugin.py says what they are."""

    def __init__(self, send: Callable[..., None]) -> None:
        self._send = send
        self.statuses: list[str] = []

    def case(self, case: Case) -> None:
        """One test, whole."""
        self.statuses.append(case.status)
        self._send("start", id=case.name)
        self._send(
            "phase",
            id=case.name,
            phase="call",
            outcome=case.status,
            xfail=False,
            seconds=case.seconds,
            kind=case.kind if case.status == "failed" else None,
            detail=case.detail,
        )
        self._send("finish", id=case.name)

    def broken(self, path: str, detail: str) -> None:
        """A file that could not be compiled or configured."""
        self._send("collect", id=path, kind="compile", detail=detail)


def run(orders: Mapping[str, Any], send: Callable[..., None]) -> int:
    """Build and test; returns the code of the end record."""
    shop = Workshop(Path(orders["workspace"]), orders["build"], ROOT, orders.get("fresh", ()))
    reporter = Reporter(send)
    unconfigured, cases = SYSTEMS[shop.system](shop)
    for path, error in sorted(shop.broken_sources().items()):
        reporter.broken(path, error)
    if unconfigured:
        reporter.broken(unconfigured, "it could not be configured; see the log")
    for case in cases:
        reporter.case(case)
    say(f"{len(reporter.statuses)} tests, {reporter.statuses.count('passed')} passed")
    if not reporter.statuses:
        return NONE
    return PASSED if all(status != "failed" for status in reporter.statuses) else FAILED
