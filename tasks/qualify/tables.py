"""The tables in data/ by which the rules decide, as a part of the keys of the phase: what they say changes verdicts."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tasks.qualify.benchmarks import LISTS
from tasks.qualify.demands import TABLE


def digest_of_tables(*, benchmarks: bool, lists: Path = LISTS, demands: Path = TABLE) -> str:
    """SHA-256 of data/demands.toml and, where they count, of the lists of known benchmarks."""
    return _digest([demands, *(sorted(lists.glob("*.txt")) if benchmarks else ())])


def _digest(paths: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()
