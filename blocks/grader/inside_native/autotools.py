"""configure and make in the copy itself; tests by `make check`, from the .trs files of automake's harness."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import make
from .outcome import Case
from .workshop import Workshop

RESULTS = {"PASS": "passed", "XPASS": "failed", "SKIP": "skipped", "XFAIL": "skipped"}
"""automake's words (manual, "Basics of test metadata"); FAIL and ERROR are failures."""


def run(shop: Workshop) -> tuple[str, Iterable[Case]]:
    """Generate configure where it is not there, configure, build, then the tests."""
    configure = shop.folder / "configure"
    if not configure.exists() and shop.step(["autoreconf", "--force", "--install"]) != 0 and not configure.exists():
        script = next(
            (name for name in ("autogen.sh", "bootstrap", "bootstrap.sh") if (shop.folder / name).exists()), ""
        )
        if script:
            shop.step(["sh", script], NOCONFIGURE="1")
    if shop.step(["sh", "./configure", *shop.options]) != 0:
        manifest = "configure.ac" if (shop.folder / "configure.ac").exists() else "configure"
        return shop.relative(shop.folder / manifest), ()
    target = (shop.targets or ["check"])[0]
    shop.build(["make", "-k", f"-j{shop.jobs}"], ["make", "-k", f"-j{shop.jobs}", target, "TESTS="])
    traced = list(make.traced(shop, [target]))
    found = list(_harness(shop.folder))
    return "", found or traced


def _harness(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.rglob("*.trs")):
        name = os.fspath(path.relative_to(folder))[: -len(".trs")]
        fields = [line[1:].split(":", 1) for line in path.read_text("utf-8", "replace").splitlines() if line[:1] == ":"]
        results = [value.strip() for key, value in fields if key == "test-result"]
        for result in results:
            word, _, part = result.partition(" ")
            status = RESULTS.get(word, "failed")
            kind = None if status != "failed" else "error" if word == "ERROR" else "assertion"
            if kind == "assertion" and _is_missing(path.with_suffix(".log")):
                kind = "compile"
            yield Case(f"{name}::{part}" if part else name, status, kind, word.lower() if kind else "")


def _is_missing(log: Path) -> bool:
    """Whether automake's test driver could not find the program: exit code 127."""
    try:
        return "exit status: 127" in log.read_text("utf-8", "replace")[-400:]
    except OSError:
        return False
