"""JUnit XML that a test tool wrote, as hostile input, for tools that take no reporter of ours (bun)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from .report import MAX_IDS, TestOutcome, clean

_RANK = {"passed": 0, "skipped": 1, "failed": 2}
_KINDS = (
    ("timeout", re.compile(r"timed out after", re.I)),
    ("import", re.compile(r"Cannot find (module|package)|Export named|Could not resolve", re.I)),
    ("assertion", re.compile(r"AssertionError|expect\(", re.I)),
    ("missing_name", re.compile(r"ReferenceError|is not a (function|constructor)|Can't find variable", re.I)),
)


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
            kind = next((kind for kind, pattern in _KINDS if pattern.search(told)), "error")
            return TestOutcome("failed", kind, seconds, (told.splitlines() or [""])[0][:300])
        if child.tag == "skipped":
            return TestOutcome("skipped", None, seconds, clean(child.get("message", ""))[:300])
    return TestOutcome("passed", None, seconds, "")
