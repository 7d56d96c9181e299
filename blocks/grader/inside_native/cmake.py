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

from .frameworks import framework_of, junit_case, run_program
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
"""Properties of a test that leave it runnable by itself: nothing but its program's end says how it went."""


@dataclass(frozen=True)
class Entry:
    """A test as CTest lists it. `index` counts from 1, as `ctest -I` does."""

    index: int
    name: str
    command: tuple[str, ...]
    properties: dict[str, Any]

    @property
    def framework(self) -> str | None:
        """The framework of its program."""
        return framework_of(Path(self.command[0])) if self.command else None

    @property
    def is_plain(self) -> bool:
        """Whether it can be run without CTest."""
        special = set(self.properties) - PLAIN
        if self.framework == "gtest":
            special.discard("SKIP_REGULAR_EXPRESSION")
        return bool(self.command) and not special

    @property
    def is_whole(self) -> bool:
        """Whether it is all that its program has."""
        return not any(_chooses(word) for word in self.command[1:])


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
    """The cases of a test that CTest is not needed for; None for any other."""
    if not entry.is_plain:
        return None
    properties = entry.properties
    cwd = Path(properties.get("WORKING_DIRECTORY") or shop.out)
    variables = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", ()) if "=" in item)
    timeout_sec = float(properties.get("TIMEOUT") or TEST_TIMEOUT_SEC)
    framework = entry.framework
    if framework and entry.is_whole:
        cases = run_program(shop, framework, entry.command, cwd, variables, timeout_sec)
        if cases is not None:
            return [replace(case, name=f"{entry.name}::{case.name}") for case in cases]
    if framework == "gtest":
        cases = run_program(shop, framework, entry.command, cwd, variables, timeout_sec, alone=False)
        if cases is not None and len(cases) == 1:
            return [replace(cases[0], name=entry.name)]
    done = shop.run_test(entry.command, cwd, variables, timeout_sec)
    skip_code = properties.get("SKIP_RETURN_CODE")
    return [of_exit(entry.name, done, skip_code=int(skip_code) if skip_code is not None else None)]


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
    report = shop.notes / "ctest.xml"
    chosen = ",".join(str(entry.index) for entry in entries)
    argv = ["ctest", "--test-dir", str(shop.out), "--output-junit", str(report), "--no-tests=ignore"]
    shop.step([*argv, "--timeout", str(int(TEST_TIMEOUT_SEC)), "-I", f"0,0,0,{chosen}"], shop.out)
    missing = {entry.name for entry in entries if not entry.command or not _is_there(entry.command[0])}
    try:
        found = list(ElementTree.parse(report).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return
    for element in found:
        yield _ctest_case(element, missing)


def _ctest_case(element: ElementTree.Element, missing: set[str]) -> Case:
    """CTest's JUnit: `status` is run, fail, notrun or disabled; `failure` says why (cmCTestTestHandler.cxx, 3.21+)."""
    name = element.get("name", "")
    case = junit_case(element, name)
    status = element.get("status", "run")
    if name in missing:
        return Case(name, "failed", "compile", "its program was not built")
    if status in ("notrun", "disabled") or case.status == "skipped":
        return replace(case, status="skipped", kind=None)
    if status == "fail" or case.status == "failed":
        kind = "timeout" if "timeout" in case.detail.lower() else "assertion"
        return replace(case, status="failed", kind=kind, detail=case.detail or "failed")
    return case


def _chooses(word: str) -> bool:
    return "filter" in word or word.startswith(("--test-case", "-tc")) or not word.startswith("-")


def _is_there(program: str) -> bool:
    return not program.startswith("/") or Path(program).exists()
