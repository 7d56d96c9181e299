"""The package store: by hash, once, and never trusted blindly."""

import hashlib
from pathlib import Path

import pytest

from blocks.builder.packages import keep_package, load_package, package_key, wheelhouse
from blocks.errors import PermanentError
from blocks.lake import ObjectMissingError, open_store
from blocks.settings import Settings

NAME = "kettle-1.0-py3-none-any.whl"


def test_kept_once_under_its_hash(tmp_path: Path) -> None:
    store = open_store(Settings(home=tmp_path))
    package = keep_package(store, "kettle", "1.0", NAME, b"wheel")
    assert package.sha256 == hashlib.sha256(b"wheel").hexdigest()
    assert keep_package(store, "kettle", "1.0", NAME, b"wheel") == package
    other = keep_package(store, "kettle", "1.0", NAME, b"another build")
    assert [info.key for info in store.list("packages/")] == sorted(map(package_key, (package, other)))
    assert wheelhouse(store, [package])[NAME].content == b"wheel"


def test_bytes_that_are_not_what_they_were(tmp_path: Path) -> None:
    store = open_store(Settings(home=tmp_path))
    package = keep_package(store, "kettle", "1.0", NAME, b"wheel")
    store.put(package_key(package), b"other")
    with pytest.raises(PermanentError, match=f"{NAME}: the stored bytes do not match"):
        load_package(store, package)
    store.delete(package_key(package))
    with pytest.raises(ObjectMissingError):
        load_package(store, package)
