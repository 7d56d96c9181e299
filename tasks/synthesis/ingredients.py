"""What a verifier is made from."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from blocks.recipe import Recipe
from blocks.trees import File, Tree, overlay


@dataclass(frozen=True)
class Ingredients:
    """What a verifier is made from."""

    start: Tree
    """The workspace of the environment image: the start tree and what the install left there."""
    change: Mapping[str, File | None]
    """What the solution writes over the start, hidden tests left out; None removes."""
    source_paths: tuple[str, ...]
    """Of the paths in `change`, those that hold source."""
    hidden: Tree
    removed_tests: tuple[str, ...]
    test_paths: tuple[str, ...]
    """Every test file of the start tree."""
    open_paths: tuple[str, ...]
    """pytest: protected kinds of files (manifests, configuration) that the outcome itself changes."""
    recipe: Recipe
    timeout_sec: int
    pristine: frozenset[str] | None = None
    """Paths of the start tree alone, without what the install left; None: all of `start`."""
    manifests: Mapping[str, File | None] = field(default_factory=dict)
    """node, native: configuration that is laid as the outcome has it; None removes."""
    silent: frozenset[str] = frozenset()
    """node, native: test files in which tests that must fail do not show, not even with the solution."""
    must_fail: frozenset[str] | None = None
    """native: tests that fail where their program says that it failed; None: not found out yet, all are asked."""

    def solved(self) -> dict[str, File]:
        """The workspace with the solution in it."""
        return overlay(self.start, self.change)


def digests(tree: Mapping[str, File]) -> dict[str, str]:
    """sha256 of each file's content."""
    return {path: hashlib.sha256(file.content).hexdigest() for path, file in tree.items()}
