"""One contract for both forms of the store."""

import threading
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from blocks.errors import UsageError
from blocks.lake import ObjectMissingError, ObjectStore
from blocks.lake.store import checked_key
from tests.blocks.lake.conftest import OpenStore

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1, max_size=12)
KEYS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


def test_reads_give_what_the_last_write_put(store: ObjectStore, tmp_path: Path) -> None:
    source = tmp_path / "large"
    source.write_bytes(bytes(range(256)) * (70 * 4096))  # 70 MiB: S3 takes it in parts
    store.put("a/large", source)
    store.put("a/small", b"")
    store.put("a/small", b"two")
    store.download("a/large", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    assert store.get("a/small") == b"two"
    assert [(info.key, info.size_bytes) for info in store.list()] == [("a/large", 70 << 20), ("a/small", 3)]
    first = store.head("a/small")
    assert first is not None and first.size_bytes == 3
    assert first in list(store.list("a/s"))
    store.put("a/small", b"TWO")
    second = store.head("a/small")
    assert second is not None and second.etag != first.etag
    assert store.uri("a/small").endswith("/a/small")


def test_what_is_not_there(store: ObjectStore, tmp_path: Path) -> None:
    store.put("folder/object", b"1")
    for key in ("gone", "folder", "folder/object/below"):
        with pytest.raises(ObjectMissingError, match=key):
            store.get(key)
        with pytest.raises(ObjectMissingError, match=key):
            store.download(key, tmp_path / "target")
        assert store.head(key) is None
        assert store.put_if_match(key, b"2", '"0"') is False
        store.delete(key)
    assert not (tmp_path / "target").exists()
    assert store.get("folder/object") == b"1"
    assert list(store.list("nowhere/")) == []


def test_conditions(store: ObjectStore) -> None:
    assert store.put_if_absent("x", b"1") is True
    assert store.put_if_absent("x", b"2") is False
    info = store.head("x")
    assert info is not None
    assert store.put_if_match("x", b"3", "0" * 32) is False
    assert store.put_if_match("x", b"4", info.etag) is True
    assert store.put_if_match("x", b"5", info.etag) is False
    assert store.get("x") == b"4"
    store.delete("x")
    assert store.put_if_match("x", b"6", info.etag) is False
    assert store.put_if_absent("x", b"7") is True


def test_one_of_many_wins(open_again: OpenStore) -> None:
    stores = [open_again() for _ in range(4)]
    stores[0].put("shared", b"start")
    for turn in range(4):
        info = stores[0].head("shared")
        assert info is not None
        created: list[int] = []
        replaced: list[int] = []
        work = partial(_race, turn, info.etag, threading.Barrier(len(stores)), created, replaced)
        threads = [threading.Thread(target=work, args=(number, store)) for number, store in enumerate(stores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(created) == 1 and len(replaced) == 1
        assert stores[0].get(f"new/{turn}") == f"{turn} {created[0]}".encode()
        assert stores[0].get("shared") == f"{turn} {replaced[0]}".encode()


def _race(
    turn: int,
    etag: str,
    barrier: threading.Barrier,
    created: list[int],
    replaced: list[int],
    number: int,
    store: ObjectStore,
) -> None:
    barrier.wait()
    body = f"{turn} {number}".encode()
    if store.put_if_absent(f"new/{turn}", body):
        created.append(number)
    if store.put_if_match("shared", body, etag):
        replaced.append(number)


def test_list_is_in_order_of_keys_and_a_prefix_is_text(store: ObjectStore) -> None:
    keys = ["x-b", "x.c", "x/a", "x/zz/y", "x/zz-", "x0", "y/é ü+%#?&=", "y/e", "y/~"]
    for key in keys:
        store.put(key, key.encode())
    assert [info.key for info in store.list()] == sorted(keys, key=str.encode)
    assert [info.key for info in store.list("x/")] == ["x/a", "x/zz-", "x/zz/y"]
    assert [info.key for info in store.list("x")] == ["x-b", "x.c", "x/a", "x/zz-", "x/zz/y", "x0"]
    assert [info.key for info in store.list("x/z")] == ["x/zz-", "x/zz/y"]
    assert store.get("y/é ü+%#?&=").decode() == "y/é ü+%#?&="


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(KEYS)
@example("a//b")
@example("../b")
@example("a/./b")
@example("a%2fb/c?d#e")
def test_any_key_round_trips_or_is_refused(store: ObjectStore, key: str) -> None:
    try:
        checked_key(key)
    except UsageError:
        with pytest.raises(UsageError):
            store.put(key, b"1")
        with pytest.raises(UsageError):
            store.uri(key)
        return
    store.put(key, key.encode())
    assert store.get(key) == key.encode()
    assert [info.key for info in store.list(key) if info.key == key] == [key]
    store.delete(key)
    assert store.head(key) is None


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/../b",
        "a\0b",
        "a\nb",
        "a\\b",
        "\ud800",
        "a/.~b",
        "x" * 201,
        "y/" * 500 + "y",
    ],
)
def test_bad_keys(key: str) -> None:
    with pytest.raises(UsageError, match="object key"):
        checked_key(key)
