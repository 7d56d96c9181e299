"""What a stack is to images and containers: its runtime, its dependency layer, how a project is installed from it.

Archaeology and containerize ask the same foundation, so that what was tested is what is built.
"""

from dataclasses import dataclass
from typing import Protocol

from blocks.engine import Container, Engine
from blocks.lake import ObjectStore
from blocks.recipe import Package, Recipe
from blocks.settings import Settings


@dataclass(frozen=True)
class Installed:
    """How an install ended. `recipe` says how it was done in the end; `symptom` what had to be got around, if anything."""

    ok: bool
    recipe: Recipe
    output: str
    symptom: str = ""
    remedy: str = ""


class Foundation(Protocol):
    """One stack's layers and install."""

    def runtime_image(self, engine: Engine, settings: Settings, recipe: Recipe) -> str | None:
        """Reference of the runtime image, made where the engine lacks it; None where there is none for this version."""
        ...

    def dependency_image(
        self, engine: Engine, store: ObjectStore, settings: Settings, recipe: Recipe, runtime_image: str
    ) -> str:
        """Reference of the dependency layer, made from the package store without a network.

        Raises:
            InstallError: the packages do not install together.
        """
        ...

    def install(self, box: Container, recipe: Recipe, *, timeout_sec: int) -> Installed:
        """Install the project that lies in the workspace, as the unprivileged user, without a network."""
        ...

    def sealed_folders(self, recipe: Recipe) -> tuple[str, ...]:
        """Folders outside the workspace whose files go back to root when the environment is sealed."""
        ...

    def shared_folders(self, recipe: Recipe) -> tuple[str, ...]:
        """Folders among the sealed ones that everybody may write to, named here and by nobody else: caches of tools."""
        ...

    def image_changes(self, recipe: Recipe) -> tuple[str, ...]:
        """Lines of Dockerfile syntax (`ENV ...`) that the environment image carries."""
        ...

    def vendored(self, engine: Engine, store: ObjectStore, recipe: Recipe, runtime_image: str) -> tuple[Package, ...]:
        """What the runtime is made from that Debian does not have, kept in the package store."""
        ...
