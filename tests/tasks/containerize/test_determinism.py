"""Built twice from scratch, each time with layers of its own: the same paths, bytes, modes and owners."""

import hashlib
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.builder.foundations import foundation_of
from blocks.engine import Engine
from blocks.lake import open_store
from blocks.recipe import Recipe
from blocks.records import Phase
from blocks.settings import Settings
from tasks.containerize.scan import known_layers
from tasks.containerize.seal import seal
from tests.tasks.pipeline import Candidate

pytestmark = [pytest.mark.engine, pytest.mark.slow]

DIFFERS: frozenset[str] = frozenset()
"""Paths that may differ between two builds of the same inputs: none so far."""


@pytest.fixture
def images(engine: Engine) -> Iterator[list[str]]:
    """Images of this test, the upper ones last; taken away afterwards."""
    made: list[str] = []
    yield made
    for reference in reversed(made):
        engine.remove_image(reference)


def build(candidate: Candidate, python_image: str, home: Path, name: str, images: list[str]) -> dict[str, str]:
    """The files of an environment image above the runtime. Its layers are new: the runtime has another name each time."""
    engine, settings = candidate.workshop.engine, Settings(home=home)
    runtime = f"envmill-test/runtime:{engine.owner.pid}-{name}"
    engine.tag(python_image, runtime)
    images.append(runtime)
    recipe = candidate.chain.record(Phase.ARCHAEOLOGY, "recipe.json", Recipe)
    start = candidate.chain.tree(Phase.ARCHAEOLOGY, "start.tar")
    # Packages are what both builds share; everything else is made anew, in another home.
    store = candidate.workshop.store
    below = foundation_of(recipe).dependency_image(engine, store, settings, recipe, runtime)
    images.append(below)
    built = seal(engine, store, settings, recipe, start, runtime_image=runtime, environment_id="same-0")
    images.append(built.reference)
    assert not built.failure
    files: dict[str, list[str]] = {}
    for layer, stream in engine.save_layers(built.reference, known_layers(engine, open_store(settings), python_image)):
        if layer.startswith("layer/"):
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for entry in archive:
                    reader = archive.extractfile(entry) if entry.isreg() else None
                    body = hashlib.sha256(reader.read()).hexdigest() if reader else entry.linkname
                    kind = entry.type.decode()
                    said = f"{kind} {entry.mode:o} {entry.uid}:{entry.gid} {body}"
                    files.setdefault(entry.name, []).append(said)
    return {path: "; ".join(sorted(said)) for path, said in files.items()}  # layers come in no certain order


def test_built_twice(rebuilt: Candidate, python_image: str, tmp_path: Path, images: list[str]) -> None:
    first = build(rebuilt, python_image, tmp_path / "a", "a", images)
    second = build(rebuilt, python_image, tmp_path / "b", "b", images)
    assert len(set(images)) == 6, "nothing was shared but the runtime"
    assert len(first) > 500
    assert any(path.endswith(".pyc") for path in first)
    different = {
        path: (first.get(path), second.get(path))
        for path in sorted(first.keys() | second.keys())
        if first.get(path) != second.get(path)
    }
    assert {path: how for path, how in different.items() if path not in DIFFERS} == {}
    assert not [path for path in first if re.search(r"uv_(cache|build)\.json$|\.dist-info/direct_url\.json$", path)][1:]
