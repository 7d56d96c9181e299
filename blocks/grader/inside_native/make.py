"""A plain Makefile, in the copy itself: what its test target runs is seen from outside, program by program.

The target's recipes are run under strace, which tells who started whom, where and with what end. A test is the outermost
program or script of the project among them; its end is what counts. `make -i` goes on after a failure, so that a failing
program does not hide those after it (a loop of one recipe line that gives up still does).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from .frameworks import framework_of, run_program
from .outcome import Case, ended_with
from .trace import Process, read_trace
from .workshop import TEST_TIMEOUT_SEC, Workshop

INTERPRETERS = {"sh", "bash", "dash", "python3", "perl", "ruby", "node", "lua", "tclsh", "valgrind", "env", "timeout"}
NO_TESTS = {
    "libtool", "config.status", "configure", "missing", "install-sh", "depcomp", "ylwrap", "test-driver", "compile",
    "mkinstalldirs", "ltmain.sh", "config.guess", "config.sub",
}  # fmt: skip
"""Scripts of the build itself that projects carry."""

WORDS = 160


def run(shop: Workshop) -> tuple[str, Iterable[Case]]:
    """Build the first target, then the targets that test."""
    if not any((shop.folder / name).exists() for name in ("GNUmakefile", "makefile", "Makefile")):
        return shop.relative(shop.folder / "Makefile"), ()
    shop.step(["make", "-k", f"-j{shop.jobs}", *shop.options])
    targets = shop.targets or ["test"]
    return "", list(traced(shop, targets)) or traced(shop, ["--always-make", *targets])


def traced(shop: Workshop, targets: list[str]) -> Iterator[Case]:
    """The tests that a run of make runs. (A target that is also a file may be up to date: then nothing is run.)"""
    log = shop.notes / "trace"
    seen: dict[str, int] = {}
    strace = ["strace", "-f", "--seccomp-bpf", "-q", "-s", "4096", "-o", str(log)]
    strace += ["-e", "trace=execve,chdir,fchdir,clone,clone3,fork,vfork"]
    shop.step([*strace, "make", "-i", "-k", *shop.options, *targets])
    processes = read_trace(log, shop.folder)
    for process in processes.values():
        if _is_test(shop, process) and not any(_is_test(shop, one) for one in _above(process, processes)):
            name = _name(shop, process)
            seen[name] = seen.get(name, 0) + 1
            yield from _cases(shop, process, name if seen[name] == 1 else f"{name} #{seen[name]}")


def _cases(shop: Workshop, process: Process, name: str) -> list[Case]:
    framework = framework_of(process.program)
    if framework and len(process.argv) == 1:
        cases = run_program(shop, framework, [str(process.program)], process.folder, {}, TEST_TIMEOUT_SEC)
        if cases:
            return [replace(case, name=f"{name}::{case.name}") for case in cases]
    if process.code == 0:
        return [Case(name, "passed")]
    if process.code == 77:
        return [Case(name, "skipped")]
    if process.code is None:
        return [Case(name, "failed", "timeout", "it did not come to its end")]
    own = process.code > 0 or process.code == -6
    return [Case(name, "failed", "assertion" if own else "error", ended_with(process.code))]


def _is_test(shop: Workshop, process: Process) -> bool:
    script = _script(shop, process)
    return script is not None and script.name not in NO_TESTS


def _script(shop: Workshop, process: Process) -> Path | None:
    """The file of the project that a process runs, itself or through an interpreter."""
    if not process.argv:
        return None
    if shop.is_ours(process.program):
        return process.program
    if process.program.name.rstrip("0123456789.") in {name.rstrip("0123456789.") for name in INTERPRETERS}:
        for word in process.argv[1:]:
            if word == "-c":
                return None
            path = process.folder / word
            if not word.startswith("-") and path.is_file() and shop.is_ours(path):
                return path
    return None


def _above(process: Process, processes: dict[int, Process]) -> Iterator[Process]:
    parent = processes.get(process.parent)
    while parent is not None:
        yield parent
        parent = processes.get(parent.parent)


def _name(shop: Workshop, process: Process) -> str:
    script = _script(shop, process)
    assert script is not None
    own = script is process.program
    argv = list(process.argv[1:])
    if not own:
        position = next(index for index, word in enumerate(argv) if process.folder / word == script)
        argv = argv[position + 1 :]
    words = [word.replace(f"{shop.source}/", "") for word in argv]
    return " ".join([shop.relative(script) or script.name, *words])[:WORDS].strip()
