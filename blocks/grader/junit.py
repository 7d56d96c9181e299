"""JUnit XML that a test tool wrote, as hostile input, for a tool that takes no reporter of ours: bun.

bun (1.2, 1.3) calls every failure an AssertionError, but counts each test's expectations. A failure without any is no
failed expectation: its kind is `error`; with one it is taken for `assertion`; a TimeoutError is `timeout`.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from .report import MAX_IDS, TestOutcome, clean

_RANK = {"passed": 0, "skipped": 1, "failed": 2}


def read_junit(data: bytes, prefix: str = "") -> dict[str, TestOutcome] | None:
    """Tests by `<file>::<suite> > <name>`; None where it is no whole document or declares entities.

    Of several results for one id the worst counts.
    """
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return None
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError:
        return None
    results: dict[str, TestOutcome] = {}
    for file, names, case in _cases(root, "", ()):
        if len(results) >= MAX_IDS:
            return None
        test_id = clean(f"{prefix}{file}::{' > '.join(names)}")
        outcome = _outcome(case)
        if test_id not in results or _RANK[outcome.status] > _RANK[results[test_id].status]:
            results[test_id] = outcome
    return results


def _cases(
    element: ElementTree.Element, file: str, names: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...], ElementTree.Element]]:
    for child in element:
        where = child.get("file") or file
        name = child.get("name", "")
        if child.tag == "testsuite":
            yield from _cases(child, where, names if name == where else (*names, name))
        elif child.tag == "testcase":
            yield where, (*names, name), child


def _outcome(case: ElementTree.Element) -> TestOutcome:
    try:
        seconds = max(0.0, float(case.get("time", "0")))
    except ValueError:
        seconds = 0.0
    for child in case:
        if child.tag in ("failure", "error"):
            told = clean(" ".join(filter(None, (child.get("type"), child.get("message"), child.text))).strip())
            return TestOutcome("failed", _kind(case, child), seconds, (told.splitlines() or [""])[0][:300])
        if child.tag == "skipped":
            return TestOutcome("skipped", None, seconds, clean(child.get("message", ""))[:300])
    return TestOutcome("passed", None, seconds, "")


def _kind(case: ElementTree.Element, failure: ElementTree.Element) -> str:
    if failure.get("type") == "TimeoutError":
        return "timeout"
    return "assertion" if case.get("assertions", "0") != "0" else "error"
