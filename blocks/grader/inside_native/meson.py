"""Meson; tests by `meson test`, its testlog.json and, for what a test said about its parts, its JUnit report."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from .frameworks import framework_of, junit_case, run_program
from .outcome import Case
from .workshop import TEST_TIMEOUT_SEC, Workshop

STATUS = {
    "OK": "passed",
    "UNEXPECTEDPASS": "passed",
    "EXPECTEDFAIL": "skipped",
    "SKIP": "skipped",
    "IGNORED": "skipped",
}
"""Meson's results (mesonbuild/mtest.py, 0.58+); all others are failures."""


def run(shop: Workshop) -> tuple[str, Iterable[Case]]:
    """Configure without downloads, build what can be built, then the tests."""
    setup = ["meson", "setup", "--wrap-mode=nodownload", "-Dwerror=false", *shop.options]
    if shop.step([*setup, str(shop.out), str(shop.folder)]) != 0:
        return shop.relative(shop.folder / "meson.build"), ()
    ninja = ["ninja", "-C", str(shop.out), "-k", "0", "-j", str(shop.jobs)]
    shop.build(ninja, [*ninja, "meson-test-prereq"])
    argv = ["meson", "test", "-C", str(shop.out), "--no-rebuild", "--num-processes", "1", "--timeout-multiplier", "2"]
    shop.step([*argv, "--no-stdsplit", "--print-errorlogs"], MESON_TESTTHREADS="1")
    return "", _cases(shop)


def _cases(shop: Workshop) -> Iterator[Case]:
    logs = shop.out / "meson-logs"
    parts = _parts(logs / "testlog.junit.xml")
    try:
        lines = (logs / "testlog.json").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        record = json.loads(line)
        name = _name(str(record["name"]))
        whole = _case(record, name)
        program = Path(record["command"][0])
        framework = framework_of(program) if len(record["command"]) == 1 else None
        cases = run_program(shop, framework, [str(program)], shop.out, {}, TEST_TIMEOUT_SEC) if framework else None
        if cases is None and whole.kind not in ("compile", "timeout"):
            cases = parts.get(name)
        yield from [replace(case, name=f"{name}::{case.name}") for case in cases] if cases else [whole]


def _name(name: str) -> str:
    """`project:suite / test` is what meson prints of a test that has a suite; the test's own name is the last part."""
    return name.rpartition(" / ")[2]


def _case(record: dict[str, Any], name: str) -> Case:
    result, seconds = str(record["result"]), float(record.get("duration") or 0)
    status = STATUS.get(result, "failed")
    if status != "failed":
        return Case(name, status, None, "", seconds)
    if result == "TIMEOUT":
        return Case(name, "failed", "timeout", "the test's time was up", seconds)
    program = Path(record["command"][0])
    if program.is_absolute() and not program.exists():
        return Case(name, "failed", "compile", "its program was not built", seconds)
    code = int(record.get("returncode") or 0)
    kind = "error" if result == "ERROR" or (code < 0 and code != -6) else "assertion"
    return Case(name, "failed", kind, f"{result.lower()}: ended with {code}", seconds)


def _parts(report: Path) -> dict[str, list[Case]]:
    """For tests that spoke TAP, GoogleTest or Rust's words: their parts by the test's name."""
    found: dict[str, list[Case]] = {}
    try:
        root = ElementTree.parse(report).getroot()
    except (OSError, ElementTree.ParseError):
        return found
    for suite in root.iter("testsuite"):
        name = suite.get("name", "").rpartition(".")[2]
        cases = [junit_case(entry, entry.get("name", "")) for entry in suite.iter("testcase")]
        if cases and suite.get("name", "").count(".") and all(case.name != name for case in cases):
            found.setdefault(name, []).extend(cases)
    return found
