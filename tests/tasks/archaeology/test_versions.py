"""Which Python: allowed, of its time, named by the project, the default."""

from datetime import UTC, datetime

import pytest

from tasks.archaeology.versions import runtimes


@pytest.mark.parametrize(
    ("requires", "named", "year", "expected"),
    [
        ([None], [], 2025, ("3.11", "3.13", "3.9")),
        ([">=3.8", ">=3.10"], ["3.10", "3.11", "3.13"], 2025, ("3.11", "3.13")),
        ([">=3.12"], [], 2025, ("3.13",)),
        (["<3.11"], ["3.13"], 2025, ("3.9",)),
        ([">=3.14"], ["3.14"], 2025, ()),
        ([">=3.9.7"], [], 2021, ("3.11", "3.13")),
        ([], ["3.7", "3.8", "3.9"], 2025, ("3.9", "3.11", "3.13")),
        ([], ["3.12", "3.13", "3.14"], 2026, ("3.13", "3.11", "3.9")),
        ([], ["3.12", "3.13"], 2023, ("3.11", "3.9", "3.13")),
        ([], [], 2021, ("3.9", "3.11", "3.13")),
        ([], ["3.6", "3.7"], 2019, ("3.9", "3.11", "3.13")),
        (["what is this"], [], 2025, ("3.11", "3.13", "3.9")),
    ],
)
def test_best_first(requires: list[str | None], named: list[str], year: int, expected: tuple[str, ...]) -> None:
    assert runtimes(requires, named, datetime(year, 6, 1, tzinfo=UTC)) == expected
