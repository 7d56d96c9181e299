"""What archaeology asks of a stack: which test files are its, what recipe the manifests give, how it is fetched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from blocks.engine import Engine
from blocks.lake import ObjectStore
from blocks.recipe import Recipe
from blocks.records import ObstacleRow, ReasonCode
from blocks.settings import Settings
from blocks.trees import Tree
from tasks.archaeology.proposals import Asking
from tasks.archaeology.remedies import Fix


@dataclass(frozen=True)
class Bench:
    """What a stack works with."""

    engine: Engine
    store: ObjectStore
    settings: Settings
    candidate_id: str
    asking: Asking | None = None
    """Who is asked for fixes where nothing else helps; None: nobody."""


@dataclass(frozen=True)
class Facts:
    """What a plan may know beside the trees."""

    as_of: datetime
    """When the outcome was committed; nothing released later is used."""
    nearest_tag: str | None
    hidden_paths: tuple[str, ...]
    """The outcome's test files."""
    folder: str = "."
    """Of the project whose build is planned, relative to the tree (see `Stack.homes`)."""


@dataclass(frozen=True)
class NoPlan:
    """Why no recipe can be made."""

    reason_code: ReasonCode
    message: str


@dataclass(frozen=True)
class Fetched:
    """What fetching gave: the recipe with its packages, or why not; and what stood in the way."""

    recipe: Recipe | None
    obstacles: tuple[ObstacleRow, ...] = ()
    failure: str = ""
    log: str = ""


class Planned(Protocol):
    """A recipe without packages yet."""

    @property
    def recipe(self) -> Recipe:
        """The recipe, its packages still empty."""
        ...

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was declared and no index can serve."""
        ...

    @property
    def services(self) -> tuple[str, ...]:
        """What CI starts beside the tests, with images where they are said. Nothing is started here."""
        ...

    def fetch(self, bench: Bench, runtime_image: str) -> Fetched:
        """Resolve and download, with a network and without any code of the repository.

        Raises:
            TransientError: the index could not be reached.
        """
        ...


@runtime_checkable
class Mendable(Protocol):
    """A plan that the table of remedies (data/remedies.toml) can change."""

    def mend(self, fix: Fix) -> Planned | None:
        """The plan with one fix; None where the fix says nothing to this stack, or changes nothing."""
        ...


class Stack(Protocol):
    """One stack."""

    @property
    def name(self) -> str:
        """Its name in recipes."""
        ...

    def claims_test(self, path: str) -> bool:
        """Whether a test file of this name belongs to this stack."""
        ...

    def homes(self, paths: Sequence[str], start: Tree, solution: Tree) -> Mapping[str, str]:
        """The folder of the project that each of these test files belongs to; absent where it belongs to none."""
        ...

    def plan(self, start: Tree, solution: Tree, facts: Facts) -> Planned | NoPlan | None:
        """Read both trees' manifests as data; None where the folder holds no manifest of this stack."""
        ...
