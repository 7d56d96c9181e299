"""What is remembered of a repository belongs to a candidate and goes with it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from blocks.lake import open_store
from blocks.remembered import forget, recall, remember
from blocks.settings import Settings

NOW = datetime(2026, 11, 30, tzinfo=UTC)
REPOSITORY = "https://github.com/example/kettle"


def test_the_last_one_that_is_still_there(tmp_path: Path) -> None:
    store = open_store(Settings(home=tmp_path))
    assert recall(store, REPOSITORY, "python-v1") is None
    remember(store, REPOSITORY, "python-v1", "c-old", b"old", NOW)
    remember(store, REPOSITORY, "python-v1", "c-new", b"new", NOW + timedelta(days=1))
    remember(store, REPOSITORY, "python-v2", "c-new", b"another version's", NOW + timedelta(days=2))
    remember(store, REPOSITORY + "-other", "python-v1", "c-other", b"other", NOW + timedelta(days=3))
    found = recall(store, REPOSITORY, "python-v1")
    assert found is not None and found.content == b"new"
    for info in list(
        store.list("candidates/c-new/")
    ):  # Whoever takes the candidate away needs to know nothing of this.
        store.delete(info.key)
    found = recall(store, REPOSITORY, "python-v1")
    assert found is not None and found.content == b"old"
    assert forget(store, "c-new") == 2, "its pointers, of both kinds"
    assert forget(store, "c-old") == 2 and recall(store, REPOSITORY, "python-v1") is None
    assert [info.key for info in store.list("") if "c-new" in info.key or "c-old" in info.key] == []
    found = recall(store, REPOSITORY + "-other", "python-v1")
    assert found is not None and found.content == b"other"


def test_what_was_changed_since_or_is_of_another_form_is_none(tmp_path: Path) -> None:
    store = open_store(Settings(home=tmp_path))
    remember(store, REPOSITORY, "python-v1", "c-1", b"good", NOW)
    (content,) = store.list("candidates/")
    (pointer,) = store.list("recipes/")
    store.put(content.key, b"forged")
    assert recall(store, REPOSITORY, "python-v1") is None
    store.put(content.key, b"good")
    assert recall(store, REPOSITORY, "python-v1") is not None
    store.put(pointer.key, b"{}")
    assert recall(store, REPOSITORY, "python-v1") is None
