"""The images' budget, on tiny images of a namespace of the test's own: what goes, in which order, and what stays."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.engine import Engine
from blocks.engine.retention import LastUse, StoredImage, make_room, stored_images
from blocks.trees import File, pack

pytestmark = pytest.mark.engine

KILO = 1000
BELOW = {"base:1": "scratch", "python:1": "base:1", "deps:a": "python:1", "deps:b": "python:1"}
BELOW |= {"environment:a1": "deps:a", "environment:a2": "deps:a", "environment:b1": "deps:b"}
"""Name to what it stands on; each has 100 kB of its own."""


class Shelf:
    """The images, in an engine that others use too."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.last_use = LastUse(folder)
        self.namespace = f"envmill-test-{engine.owner.pid}/"
        for number, (name, below) in enumerate(BELOW.items()):
            origin = "scratch" if below == "scratch" else self.namespace + below
            files = {"Dockerfile": File(content=f"FROM {origin}\nCOPY data /{number}\n".encode())}
            content = bytes([number + 1]) * 100 * KILO
            engine.build(pack({**files, "data": File(content=content)}), self.namespace + name)

    def names(self) -> set[str]:
        found = stored_images(self.engine.api, self.last_use, self.namespace)
        return {reference.removeprefix(self.namespace) for image in found for reference in image.references}

    def images(self) -> dict[str, StoredImage]:
        found = stored_images(self.engine.api, self.last_use, self.namespace)
        return {image.references[0].removeprefix(self.namespace): image for image in found}

    def room(self, kilobytes: int, *protected: str, grace_sec: float = -3600) -> list[str]:
        removed = make_room(
            self.engine.api,
            self.last_use,
            kilobytes * KILO,
            is_wanted=[self.namespace + name for name in protected].__contains__,
            namespace=self.namespace,
            grace_sec=grace_sec,
        )
        return [reference.removeprefix(self.namespace) for reference in removed]

    def used(self, *names: str) -> None:
        for name in names:
            self.last_use.note(self.namespace + name)
            time.sleep(0.02)


@pytest.fixture
def shelf(engine: Engine, tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(engine, tmp_path / "images")
    yield made
    for name in reversed(BELOW):
        engine.remove_image(made.namespace + name)


def test_the_oldest_go_first_and_the_base_last(shelf: Shelf) -> None:
    assert shelf.names() == set(BELOW)
    assert {name: image.own_bytes for name, image in shelf.images().items()} == dict.fromkeys(BELOW, 100 * KILO)
    assert shelf.room(700) == []
    shelf.used("deps:b", "environment:b1", "deps:a", "environment:a2", "base:1", "python:1", "environment:a1")
    assert shelf.room(699) == ["environment:b1"]
    assert shelf.room(500) == ["deps:b"], "unused for longest, once nothing stands on it"
    assert shelf.room(350) == ["environment:a2", "environment:a1"]
    assert shelf.room(100) == ["deps:a", "python:1"]
    assert shelf.names() == {"base:1"}
    assert shelf.room(0) == ["base:1"]
    assert shelf.room(0) == []


def test_what_is_used_stays_and_what_it_stands_on(shelf: Shelf) -> None:
    api = shelf.engine.api
    shelf.used(*reversed(BELOW))
    made = api.create_container(f"{shelf.namespace}environment:a1", command=["none"])
    try:
        removed = shelf.room(0, "deps:b")
    finally:
        api.remove_container(made["Id"])
    assert removed == ["environment:b1", "environment:a2"]
    assert shelf.names() == {"base:1", "python:1", "deps:a", "deps:b", "environment:a1"}


def test_what_is_young_stays(shelf: Shelf) -> None:
    """By its last use where that is known, else by when it was made; and others' images are nobody's business."""
    assert shelf.room(0, grace_sec=600) == []
    everything = {tag for row in shelf.engine.api.images() for tag in row["RepoTags"] or []}
    assert shelf.room(0)
    gone = everything - {tag for row in shelf.engine.api.images() for tag in row["RepoTags"] or []}
    assert {f"{shelf.namespace}{name}" for name in BELOW} <= gone
    assert not {tag for tag in gone if tag.startswith(("envmill/base", "envmill/python"))}


def test_an_image_with_another_name_is_somebody_else_s(shelf: Shelf) -> None:
    other = f"envmill-test-else-{shelf.engine.owner.pid}/x:1"
    shelf.engine.tag(f"{shelf.namespace}environment:a1", other)
    try:
        removed = shelf.room(0)
        assert set(removed) == {"environment:a2", "environment:b1", "deps:b"}
        assert shelf.engine.image_id(other)
    finally:
        shelf.engine.remove_image(other)


def test_uses_are_noted_when_containers_start(engine: Engine, base_image: str, tmp_path: Path) -> None:
    from blocks.engine import ContainerSpec, Role

    noting = Engine(engine.api, engine.settings, engine.owner)
    noting.last_use = LastUse(tmp_path / "images")
    assert noting.last_use.when(base_image) is None
    before = time.time() - 1
    with noting.container(ContainerSpec(image=base_image, role=Role.SUBJECT, deadline_sec=30)):
        assert (noting.last_use.when(base_image) or 0) >= before
    noting.last_use.forget(base_image)
    noting.last_use.forget(base_image)
    assert noting.last_use.when(base_image) is None
