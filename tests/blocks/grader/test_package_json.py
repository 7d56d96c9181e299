"""package.json field by field: what a submission may decide about."""

import json

import pytest

from blocks.grader.package_json import changed_entries, changes_more, merged

BASE = {"name": "kettle", "scripts": {"test": "jest", "build": "tsc"}, "jest": {"bail": 0}, "dependencies": {"ms": "2"}}


def graded(change: dict[str, object], *, opened: tuple[str, ...] = ()) -> dict[str, object]:
    found = json.loads(merged(json.dumps({**BASE, **change}).encode(), json.dumps(BASE).encode(), opened))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    "change",
    [
        {"scripts": {"build": "cp evil.js node_modules/jest"}},
        {"jest": {"testRunner": "./evil.js"}},
        {"mocha": {"require": "./evil.js"}},
        {"ava": {"require": ["./evil.js"]}},
        {"babel": {"plugins": ["./evil.js"]}},
        {"imports": {"#core": "./evil.js"}},
        {"type": "module"},
        {"nobody knows": 1},
    ],
)
def test_what_is_run_and_how_stays_as_in_base(change: dict[str, object]) -> None:
    assert graded(change) == BASE


def test_dependencies_are_free_and_entries_where_the_outcome_changes_them() -> None:
    change = {"dependencies": {"ms": "3"}, "version": "9", "main": "x.js", "exports": "./x.js"}
    assert graded(change) == {**BASE, "dependencies": {"ms": "3"}, "version": "9"}
    assert graded(change, opened=("exports", "scripts")) == {
        **BASE,
        "dependencies": {"ms": "3"},
        "version": "9",
        "exports": "./x.js",
    }


def test_a_field_that_is_taken_away() -> None:
    base = json.dumps(BASE).encode()
    found = json.loads(merged(b'{"name": "other"}', base, ()))
    assert found == {name: value for name, value in BASE.items() if name != "dependencies"}


@pytest.mark.parametrize(
    "submitted", [None, b"", b"[]", b"{", b"\xff", b'{"a": "\\ud800", }', b"[" * 100_000, b"{}" + b" " * (2 << 20)]
)
def test_what_is_no_manifest_is_base(submitted: bytes | None) -> None:
    base = json.dumps(BASE, indent=4).encode()
    assert merged(submitted, base, ()) == base


def test_the_same_document_keeps_the_bytes_of_base() -> None:
    base = json.dumps(BASE, indent=4).encode()
    assert merged(json.dumps(BASE).encode(), base, ("main",)) == base


def test_which_fields_differ() -> None:
    base = json.dumps(BASE).encode()
    after = json.dumps({**BASE, "version": "2", "main": "a.js", "dependencies": {}}).encode()
    assert changed_entries(base, after) == {"main"}
    assert not changes_more(base, after)
    assert changes_more(base, json.dumps({**BASE, "scripts": {}}).encode())
    assert changes_more(None, base) and not changed_entries(None, base)
