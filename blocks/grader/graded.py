"""One graded run, whatever the runner: what was seen of the tests, of those that must fail, of protected files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import submission, tree
from .account import Account
from .pytest_runner import PytestRun
from .report import TestOutcome
from .spec import GraderSpec

if TYPE_CHECKING:
    Plant = Callable[[str, str], "tuple[str, frozenset[str]] | None"]
    """From a test file's path and text: the text with tests that must fail, and their names."""


@dataclass(frozen=True)
class Graded:
    """What is decided on."""

    run: PytestRun
    """The real run."""
    sentinels: Mapping[str, str]
    """What must have failed, and how it ended: `failed`, or anything else."""
    changed: tuple[str, ...]
    """Protected and hidden files that are not as they were laid."""
    control_runs: tuple[PytestRun, ...] = ()
    """Further runs that the sentinels rest on."""
    silent_files: tuple[str, ...] = ()
    """Of the spec's `sentinel_files`, those whose own tests did not all fail."""
    own: frozenset[str] = frozenset()
    """Texts that only ids of our own tests hold."""

    @property
    def runs(self) -> tuple[PytestRun, ...]:
        """All runs."""
        return (self.run, *self.control_runs)

    @property
    def complete(self) -> bool:
        """Whether every run came to its end."""
        return all(run.complete for run in self.runs)

    def results(self) -> dict[str, TestOutcome]:
        """Results of the real run, without our own tests."""
        found = self.run.report.results
        if not self.own:
            return dict(found)
        return {test: outcome for test, outcome in found.items() if not any(name in test for name in self.own)}


def endings(results: Mapping[str, TestOutcome], names: Iterable[str]) -> dict[str, str]:
    """How the tests whose ids hold each name ended: `failed` if all did, else how one of the others did, or `absent`."""
    told = {}
    for name in names:
        found = {outcome.status for test, outcome in results.items() if name in test}
        told[name] = "absent" if not found else "failed" if found == {"failed"} else min(found - {"failed"})
    return told


def silent(names: Mapping[str, frozenset[str]], told: Mapping[str, str]) -> tuple[str, ...]:
    """Files of which a test that must fail did not."""
    return tuple(sorted(path for path, some in names.items() if any(told[name] != "failed" for name in some)))


def lay_plants(
    spec: GraderSpec, account: Account, paths: Iterable[str], plant: Plant
) -> tuple[dict[str, str], dict[str, frozenset[str]]]:
    """Write the planted texts over the given placed files; returns their digests, and the names by path."""
    root, digests, names = Path(spec.workspace), {}, {}
    for path in paths:
        target = root / path
        planted = plant(path, target.read_bytes().decode("utf-8", "surrogateescape"))
        if planted is None:
            continue
        is_executable = bool(target.lstat().st_mode & 0o100)
        tree.own(target.parent)
        tree.remove(target)
        tree.write_new(target, planted[0].encode("utf-8", "surrogateescape"), 0o755 if is_executable else 0o644)
        submission.guard(root, path, account)
        digest = tree.digest_of(target)
        if digest is not None:
            digests[path] = digest
        names[path] = planted[1]
    return digests, names
