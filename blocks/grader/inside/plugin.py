"""The pytest plugin that writes what happened, record by record, to a descriptor it got from the grader.

A record is one line: the nonce, a blank, a JSON object with `event` and what goes with it. report.py reads them.

| event | fields | when |
|---|---|---|
| start | id | a test begins |
| phase | id, phase, outcome, xfail, seconds, kind, detail | a phase of it, or a subtest, was reported |
| finish | id | it is through its teardown |
| collect | id, kind, detail | something could not be collected |
| omit | id, detail | something was skipped while it was collected |
| end | exit_code | pytest.main returned |

Outcomes are pytest's own words: passed, failed, skipped, and `rerun` of pytest-rerunfailures.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from . import failure
from .channel import Channel


class Reporter:
    """Hooks for pytest 6 to 9, in the old style of wrappers that all of them still take."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._why: dict[tuple[str, str], tuple[str, str]] = {}
        self._interrupted = False

    def end(self, exit_code: int) -> None:
        """The end record: nothing more will come. An interrupted session says so whatever code it was told to give."""
        self._channel.send("end", exit_code=int(pytest.ExitCode.INTERRUPTED) if self._interrupted else exit_code)

    def pytest_keyboard_interrupt(self) -> None:
        """The session was broken off, also by pytest.exit."""
        self._interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._channel.send("start", id=nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        """Note why a phase failed while its exception is at hand; unittest's is only set by the inner hooks."""
        outcome = yield
        error = call.excinfo.value if call.excinfo is not None else None
        if outcome.get_result().outcome == "failed":
            detail = failure.detail_of(error) if error is not None else "[XPASS(strict)]"
            self._why[item.nodeid, call.when] = (failure.of_test(error, call.when), detail)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase, or a subtest under its test's id, was reported."""
        kind, detail = self._why.pop((report.nodeid, report.when), (None, ""))
        if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
            detail = failure.skip_reason(report.longrepr)
        self._channel.send(
            "phase",
            id=report.nodeid,
            phase=report.when,
            outcome=report.outcome,
            xfail=hasattr(report, "wasxfail"),
            seconds=float(report.duration),
            kind=kind,
            detail=detail,
        )

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """The test is through."""
        self._channel.send("finish", id=nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, None]:
        """Something could not be collected."""
        outcome = yield
        report = outcome.get_result()
        if report.outcome == "skipped":
            self._channel.send("omit", id=collector.nodeid, detail=failure.skip_reason(report.longrepr))
        if report.outcome != "failed":
            return
        excinfo = getattr(getattr(report, "call", None), "excinfo", None)
        error = excinfo.value if excinfo is not None else RuntimeError("collection failed")
        self._channel.send(
            "collect",
            id=collector.nodeid,
            kind=failure.of_collection(error),
            detail=failure.detail_of(error),
        )
