"""CMake with Ninja; tests by CTest, programs of a framework by themselves."""

from __future__ import annotations

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .frameworks import framework_of, junit_case, read_gtest, run_program
from .outcome import Case, of_exit
from .workshop import TEST_TIMEOUT_SEC, Workshop

PLAIN = {
    "WORKING_DIRECTORY",
    "ENVIRONMENT",
    "TIMEOUT",
    "LABELS",
    "SKIP_RETURN_CODE",
    "PROCESSORS",
    "COST",
    "RUN_SERIAL",
}
"""Properties of a test that leave its program runnable by itself."""


@dataclass(frozen=True)
class Entry:
    """A test as CTest lists it. `index` counts from 1, as `ctest -I` does."""

    index: int
    name: str
    command: tuple[str, ...]
    properties: dict[str, Any]

    @property
    def framework(self) -> str | None:
        """The framework of the program, where the whole program is this test and nothing but its exit code is asked."""
        plain = set(self.properties) <= PLAIN and not any(_chooses(word) for word in self.command[1:])
        return framework_of(Path(self.command[0])) if self.command and plain else None


def run(shop: Workshop) -> tuple[str, Iterable[Case]]:
    """Configure, build what can be built, then the tests."""
    configured = shop.step(["cmake", "-S", str(shop.folder), "-B", str(shop.out), "-G", "Ninja", *shop.options])
    if configured != 0:
        return shop.relative(shop.folder / "CMakeLists.txt"), ()
    shop.build(["cmake", "--build", str(shop.out), "--parallel", str(shop.jobs), "--", "-k", "0"])
    return "", _cases(shop)


def _cases(shop: Workshop) -> Iterator[Case]:
    entries = _entries(shop)
    known = set()
    rest = []
    for entry in entries:
        if entry.command:
            known.add(os.path.realpath(entry.command[0]))
        cases = _by_itself(shop, entry)
        if cases is None:
            rest.append(entry)
        else:
            yield from cases
    if rest:
        yield from _by_ctest(shop, rest)
    if not entries:
        yield from unlisted(shop, known)


def _by_itself(shop: Workshop, entry: Entry) -> list[Case] | None:
    framework = entry.framework
    if framework is None:
        return None
    properties = entry.properties
    cwd = Path(properties.get("WORKING_DIRECTORY") or shop.out)
    variables = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", ()) if "=" in item)
    timeout_sec = float(properties.get("TIMEOUT") or TEST_TIMEOUT_SEC)
    cases = run_program(shop, framework, entry.command, cwd, variables, timeout_sec)
    return None if cases is None else [replace(case, name=f"{entry.name}::{case.name}") for case in cases]


def unlisted(shop: Workshop, known: set[str]) -> Iterator[Case]:
    """Programs of a framework that were built and that no list names; where there is none, programs named like tests."""
    programs = [
        path
        for path in sorted(shop.out.rglob("*"))
        if path.is_file() and os.access(path, os.X_OK) and os.path.realpath(path) not in known
        and "CMakeFiles" not in path.parts and "_deps" not in path.parts and ".so" not in path.name
    ]  # fmt: skip
    framed = [(path, framework) for path in programs for framework in [framework_of(path)] if framework]
    for path, framework in framed:
        cases = run_program(shop, framework, [str(path)], path.parent, {}, TEST_TIMEOUT_SEC)
        for case in cases or [of_exit("", shop.run_test([str(path)], path.parent))]:
            name = shop.relative(path)
            yield replace(case, name=f"{name}::{case.name}" if case.name else name)
    if not framed:
        for path in programs:
            if "test" in path.name.lower() and path.read_bytes()[:4] == b"\x7fELF":
                yield of_exit(shop.relative(path), shop.run_test([str(path)], path.parent))


def _entries(shop: Workshop) -> list[Entry]:
    done = subprocess.run(
        ["ctest", "--test-dir", str(shop.out), "--show-only=json-v1"], stdout=subprocess.PIPE, check=False
    )
    try:
        tests = json.loads(done.stdout)["tests"]
    except (ValueError, KeyError):
        return []
    return [
        Entry(
            index=index,
            name=str(test["name"]),
            command=tuple(test.get("command", ())),
            properties={one["name"]: one["value"] for one in test.get("properties", ())},
        )
        for index, test in enumerate(tests, start=1)
    ]


def _by_ctest(shop: Workshop, entries: list[Entry]) -> Iterator[Case]:
    report, reports = shop.notes / "ctest.xml", shop.notes / "gtest"
    reports.mkdir(exist_ok=True)
    chosen = ",".join(str(entry.index) for entry in entries)
    argv = ["ctest", "--test-dir", str(shop.out), "--output-junit", str(report), "--no-tests=ignore"]
    argv += ["--timeout", str(int(TEST_TIMEOUT_SEC)), "-I", f"0,0,0,{chosen}"]
    shop.step(argv, shop.out, GTEST_OUTPUT=f"json:{reports}/", GTEST_COLOR="no")
    told = _gtest_failures(reports)
    missing = {entry.name for entry in entries if not entry.command or not _is_there(entry.command[0])}
    try:
        found = list(ElementTree.parse(report).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return
    filters = {entry.name: _filter(entry.command) for entry in entries}
    for element in found:
        yield _ctest_case(element, missing, filters, told)


def _ctest_case(
    element: ElementTree.Element, missing: set[str], filters: dict[str, str], told: dict[str, Case]
) -> Case:
    """CTest's JUnit: `status` is run, fail, notrun or disabled; `failure` says why (cmCTestTestHandler.cxx, 3.21+)."""
    name = element.get("name", "")
    case = junit_case(element, name)
    status = element.get("status", "run")
    if name in missing:
        return Case(name, "failed", "compile", "its program was not built")
    if status in ("notrun", "disabled") or case.status == "skipped":
        return replace(case, status="skipped", kind=None)
    if status == "fail" or case.status == "failed":
        own = told.get(filters.get(name, ""))
        if own is not None and own.status == "failed":
            return replace(own, name=name)
        said = case.detail.lower()
        kind = "timeout" if "timeout" in said else "error" if "segfault" in said or "exception" in said else "assertion"
        return replace(case, status="failed", kind=kind, detail=case.detail or "failed")
    return case


def _gtest_failures(folder: Path) -> dict[str, Case]:
    found: dict[str, Case] = {}
    for path in folder.glob("*.json"):
        try:
            cases = read_gtest(path.read_text("utf-8", "replace"))
        except (OSError, ValueError, KeyError):
            continue
        found.update({case.name: case for case in cases if case.status == "failed"})
    return found


def _filter(command: tuple[str, ...]) -> str:
    words = [word for word in command if word.startswith("--gtest_filter=")]
    return words[0].split("=", 1)[1] if words else ""


def _chooses(word: str) -> bool:
    return "filter" in word or word.startswith(("--test-case", "-tc")) or not word.startswith("-")


def _is_there(program: str) -> bool:
    return not program.startswith("/") or Path(program).exists()
