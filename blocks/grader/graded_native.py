"""Grading of C and C++: configure, compile and test as the subject, from nothing.

Test programs of a framework get tests that must fail. Plain programs, whose exit code is all they say, are built and run
a second time with a `main` that says that they failed: each that does not fail then has not been honest.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from . import submission
from .account import Account
from .graded import Graded, endings, lay_plants, silent
from .native_runner import NativeJob, run_native
from .planting import inverted, native_plant
from .pytest_runner import PytestRun
from .spec import GraderSpec
from .tidy import remove_shared


def grade_native(spec: GraderSpec, tests: Path, account: Account) -> Graded:
    """The real run, and where everything passed in it the inverted one; the workspace is prepared already."""
    job = NativeJob(
        workspace=Path(spec.workspace),
        account=account,
        build=spec.build,
        environment=spec.environment,
        timeout_sec=spec.timeout_sec,
        fresh=(*spec.hidden, *spec.base),
    )
    digests, names = lay_plants(spec, account, spec.sentinel_files, native_plant)
    run = run_native(job)
    changed = submission.changed(spec, digests)
    own = frozenset(name for some in names.values() for name in some)
    told = endings(run.report.results, sorted(own))
    quiet = silent(names, told)
    remove_shared(account)
    more: tuple[PytestRun, ...] = ()
    if spec.must_fail and _all_passed(run, spec):
        submission.place_again(spec, tests, account, digests)
        again, _ = lay_plants(spec, account, spec.inverted_files, _inverted)
        left_sec = max(1.0, spec.timeout_sec - run.finished.seconds)
        control = run_native(replace(job, timeout_sec=left_sec))
        changed += submission.changed(spec, again)
        results = control.report.results
        told.update((test, results[test].status if test in results else "absent") for test in spec.must_fail)
        more = (control,)
    return Graded(run, told, tuple(sorted(set(changed))), more, quiet, own)


def _inverted(path: str, text: str) -> tuple[str, frozenset[str]] | None:
    told = inverted(path, text)
    return None if told is None else (told, frozenset())


def _all_passed(run: PytestRun, spec: GraderSpec) -> bool:
    results = run.report.results
    return run.complete and all(test in results and results[test].status == "passed" for test in spec.whitelist)
