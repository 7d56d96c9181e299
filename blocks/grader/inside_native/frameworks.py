"""Test programs made with a framework are asked for a structured report: GoogleTest, Catch2, doctest.

A program that ends before its report does (a crash) is asked for its list of tests, and each is run by itself, so that
one crash does not take the others with it.
"""

from __future__ import annotations

import json
import mmap
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .outcome import Case, kind_of_message, of_exit
from .workshop import Done, Workshop

MARKS = (
    ("gtest", (b"This program contains tests written using Google Test", b"libgtest.so", b"libgmock.so")),
    ("catch", (b"Ant's junitreport target", b"libCatch2.so")),
    ("doctest", (b"doctest_attr", b"[doctest] ")),
)
"""Strings of each framework in the programs that hold it, or the library that they need."""

MAX_ALONE = 3000


def framework_of(program: Path) -> str | None:
    """The framework a program is made with; None for a plain program and for what is no ELF file."""
    try:
        with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:  # noqa: PTH123
            if data[:4] != b"\x7fELF":
                return None
            for name, marks in MARKS:
                if any(data.find(mark) >= 0 for mark in marks):
                    return name
    except (OSError, ValueError):
        return None
    return None


def run_program(
    shop: Workshop,
    framework: str,
    argv: Sequence[str],
    cwd: Path,
    variables: dict[str, str],
    timeout_sec: float,
    *,
    alone: bool = True,
) -> list[Case] | None:
    """Every case of the program; None where it gives no report (then it is to be run as a plain program).

    `alone`: where the program ends before its report, its cases are run one by one.
    """
    report = shop.notes / "report"
    if report.exists():
        report.unlink()
    done = shop.run_test([*argv, *_ask(framework, report)], cwd, variables, timeout_sec)
    cases = _read(framework, report)
    if cases is not None:
        return cases
    if done.timed_out or not alone:
        return None
    names = _listed(shop, framework, argv, cwd, variables)
    if not names or len(names) > MAX_ALONE:
        return None
    return [_alone(shop, framework, argv, cwd, variables, name, report) for name in names]


def _ask(framework: str, report: Path) -> list[str]:
    if framework == "gtest":
        return [f"--gtest_output=json:{report}", "--gtest_color=no"]
    if framework == "catch":
        return ["--reporter", "junit", "--out", str(report)]
    return ["--reporters=junit", f"--out={report}", "--no-colors=true"]


def _alone(
    shop: Workshop,
    framework: str,
    argv: Sequence[str],
    cwd: Path,
    variables: dict[str, str],
    name: str,
    report: Path,
) -> Case:
    if report.exists():
        report.unlink()
    chosen = {
        "gtest": f"--gtest_filter={name}",
        "catch": re.sub(r"([,\[\]\\*])", r"\\\1", name),
        "doctest": f"--test-case={name.replace(',', chr(92) + ',')}",
    }[framework]
    done = shop.run_test([*argv, chosen, *_ask(framework, report)], cwd, variables)
    cases = [case for case in _read(framework, report) or [] if case.name == name]
    if not cases:
        case = of_exit(name, done)
        return replace(case, status="failed", kind=case.kind or "error") if done.code != 0 else case
    return cases[0]


def _listed(shop: Workshop, framework: str, argv: Sequence[str], cwd: Path, variables: dict[str, str]) -> list[str]:
    if framework == "gtest":
        return gtest_names(shop.run_test([*argv, "--gtest_list_tests"], cwd, variables, 60.0).output)
    if framework == "catch":
        done: Done = shop.run_test([*argv, "--list-tests", "--verbosity", "quiet"], cwd, variables, 60.0)
        if done.code != 0 or not done.output.strip():
            done = shop.run_test([*argv, "--list-test-names-only"], cwd, variables, 60.0)
        return [line.strip() for line in done.output.splitlines() if line.strip()]
    said = shop.run_test([*argv, "--list-test-cases", "--no-colors=true"], cwd, variables, 60.0).output
    return [line for line in said.splitlines() if line and not line.startswith(("[doctest]", "==="))]


def gtest_names(text: str) -> list[str]:
    """The names in the output of --gtest_list_tests, without disabled ones."""
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#", 1)[0].rstrip()
        if word.endswith(".") and not word.startswith(" "):
            suite = word
        elif word.startswith("  ") and suite:
            name = suite + word.strip()
            if not re.search(r"(^|[./])DISABLED_", name):
                names.append(name)
    return names


def _read(framework: str, report: Path) -> list[Case] | None:
    try:
        return read_gtest(report.read_text("utf-8", "replace")) if framework == "gtest" else read_junit(report)
    except (OSError, ValueError, KeyError, ElementTree.ParseError):
        return None


def read_gtest(text: str) -> list[Case]:
    """GoogleTest's JSON report (--gtest_output=json; docs/advanced.md of GoogleTest 1.10+).

    Raises:
        ValueError, KeyError: not such a report.
    """
    cases = []
    for suite in json.loads(text)["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            seconds = float(str(test.get("time", "0s")).rstrip("s") or 0)
            failures = [str(failure.get("failure", "")) for failure in test.get("failures", ())]
            if failures:
                kinds = [kind_of_message(re.sub(r"^[^\n]*:\d+\n|^unknown file\n", "", one)) for one in failures]
                cases.append(Case(name, "failed", kinds[0], _line(failures[0]), seconds))
            elif test.get("status") == "NOTRUN" or test.get("result") in ("SKIPPED", "SUPPRESSED"):
                cases.append(Case(name, "skipped", None, "", seconds))
            else:
                cases.append(Case(name, "passed", None, "", seconds))
    return cases


def read_junit(report: Path) -> list[Case]:
    """A JUnit report of Catch2 or doctest; a case of several entries (sections) has the worst of them.

    Raises:
        ElementTree.ParseError: not XML.
    """
    found: dict[str, Case] = {}
    for entry in ElementTree.parse(report).getroot().iter("testcase"):
        name = entry.get("name", "").split("/")[0] if entry.get("classname", "").endswith(".global") else ""
        case = junit_case(entry, name or entry.get("name", ""))
        held = found.get(case.name)
        if held is None or (held.status != "failed" and case.status == "failed"):
            found[case.name] = case
    return list(found.values())


def junit_case(entry: ElementTree.Element, name: str) -> Case:
    """One `testcase` element."""
    seconds = float(entry.get("time") or 0)
    for tag, kind in (("failure", "assertion"), ("error", "error")):
        fault = entry.find(tag)
        if fault is not None:
            text = fault.get("message") or fault.text or ""
            return Case(name, "failed", kind, _line(text), seconds)
    if entry.find("skipped") is not None:
        return Case(name, "skipped", None, "", seconds)
    return Case(name, "passed", None, "", seconds)


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
