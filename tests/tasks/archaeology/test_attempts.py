"""The ways to resolve, in the order they are tried."""

from datetime import UTC, datetime, timedelta

from tasks.archaeology.resolve import attempts

WHEN = datetime(2025, 6, 15, tzinfo=UTC)


def test_from_the_widest_to_the_most_forgiving() -> None:
    ways = attempts(["a", "b", "extra"], ["a", "b"], ["b"], WHEN)
    assert [(set(way.requirements), way.source_allowed, way.as_of - WHEN) for way in ways] == [
        ({"a", "b", "extra"}, False, timedelta(0)),
        ({"a", "b"}, False, timedelta(0)),
        ({"a", "b"}, True, timedelta(0)),
        ({"b"}, True, timedelta(0)),
        ({"b"}, True, timedelta(days=30)),
    ]
    assert len({way.remedy for way in ways}) == len(ways)


def test_ways_that_ask_for_the_same_are_tried_once() -> None:
    ways = attempts(["a", "b"], ["b", "a"], ["a", "b"], WHEN)
    assert [(way.source_allowed, way.as_of == WHEN) for way in ways] == [(False, True), (True, True), (True, False)]
