"""Environments made twice: what archaeology found of a project, and the image of its start tree with all it stands on."""

import hashlib
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from blocks.builder.foundations import foundation_of
from blocks.engine import Engine
from blocks.engine.raw import inspect_image
from blocks.lake import open_store
from blocks.recipe import Recipe
from blocks.records import Outcome
from blocks.repositories import Repository
from blocks.settings import GateSettings, Settings
from blocks.trees import Tree
from tasks.archaeology.reconstruct import reconstruct
from tasks.containerize.scan import known_layers
from tasks.containerize.seal import seal


@dataclass(frozen=True)
class Dug:
    """What archaeology found, in a home of its own."""

    recipe: Recipe
    start: Tree
    settings: Settings


def dig(engine: Engine, home: Path, repository: Repository, start: str, end: str) -> Dug:
    """Rebuild both states; what was fetched lies below `home`."""
    settings = Settings(home=home, gates=GateSettings(repeats=1))
    found = reconstruct(
        engine, open_store(settings), settings, repository, candidate_id="c-same", start_commit=start, end_commit=end
    )
    assert found.row.status is Outcome.PASSED, found.message
    assert found.recipe is not None and found.states is not None
    return Dug(found.recipe, found.states.start, settings)


@dataclass
class Forge:
    """Builds images, and takes them away again."""

    engine: Engine
    made: list[str] = field(default_factory=list)

    def runtime(self, dug: Dug, name: str = "") -> str:
        """The runtime; with a name under that: what stands on it is then made anew."""
        reference = foundation_of(dug.recipe).runtime_image(self.engine, dug.settings, dug.recipe)
        assert reference is not None
        if not name:
            return reference
        new = f"envmill-test/runtime:{self.engine.owner.pid}-{name}"
        self.engine.tag(reference, new)
        self.made.append(new)
        return new

    def below(self, dug: Dug, runtime: str) -> str:
        """The dependency image."""
        store = open_store(dug.settings)
        reference = foundation_of(dug.recipe).dependency_image(self.engine, store, dug.settings, dug.recipe, runtime)
        if reference != runtime and runtime.startswith("envmill-test/"):
            self.made.append(reference)
        return reference

    def environment(self, dug: Dug, runtime: str, name: str) -> str:
        """The environment image."""
        store = open_store(dug.settings)
        built = seal(
            self.engine, store, dug.settings, dug.recipe, dug.start, runtime_image=runtime, environment_id=name
        )
        assert not built.failure, built.failure + built.log
        self.made.append(built.reference)
        return built.reference

    def anew(self, dug: Dug, name: str) -> str:
        """The environment image, with every layer above the runtime made anew."""
        runtime = self.runtime(dug, name)
        self.below(dug, runtime)
        return self.environment(dug, runtime, "same-0")

    def layers(self, image: str) -> list[str]:
        """Ids of an image's layers, the lowest first."""
        return list(inspect_image(self.engine.api, image)["RootFS"]["Layers"])

    def files(self, image: str, dug: Dug) -> dict[str, str]:
        """What the layers above the runtime hold: kind, mode, owner and content of each path."""
        known = known_layers(self.engine, open_store(dug.settings), self.runtime(dug))
        found: dict[str, list[str]] = {}
        for layer, stream in self.engine.save_layers(image, known):
            if not layer.startswith("layer/"):
                continue
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for entry in archive:
                    reader = archive.extractfile(entry) if entry.isreg() else None
                    body = hashlib.sha256(reader.read()).hexdigest() if reader else entry.linkname
                    said = f"{entry.type.decode()} {entry.mode:o} {entry.uid}:{entry.gid} {body}"
                    found.setdefault(entry.name, []).append(said)
        return {path: "; ".join(sorted(said)) for path, said in found.items()}  # layers come in no certain order

    def clear(self) -> None:
        """Take the images away, the upper ones first."""
        for reference in reversed(self.made):
            self.engine.remove_image(reference)


def forging(engine: Engine) -> Iterator[Forge]:
    """For fixtures."""
    forge = Forge(engine)
    yield forge
    forge.clear()
