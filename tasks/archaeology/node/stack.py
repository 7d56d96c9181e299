"""JavaScript and TypeScript as a stack of archaeology."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from blocks.engine.node_runtime import NODE_VERSIONS
from blocks.path_kinds import PathKind, kind_of
from blocks.recipe import NodeBuild, NodeCommand, NodeSuite, Recipe
from blocks.records import ObstacleRow, Phase, ReasonCode
from blocks.trees import Tree
from tasks.archaeology.folders import placed, within
from tasks.archaeology.node.amend import amend_recipe, amend_sources
from tasks.archaeology.node.fetch import fetch, ways_of
from tasks.archaeology.node.managers import Manager, choose_manager
from tasks.archaeology.node.manifests import Manifest, nearest, read_manifests
from tasks.archaeology.node.project import node_home
from tasks.archaeology.node.sources import Sources, gather_sources
from tasks.archaeology.node.suites import plan_testing
from tasks.archaeology.node.versions import choose_node
from tasks.archaeology.outside import ci_services
from tasks.archaeology.remedies import Fix
from tasks.archaeology.stack import Bench, Facts, Fetched, NoPlan

_CODE = re.compile(r"\.([cm]?[jt]sx?|snap|vue|svelte)$")


@dataclass(frozen=True)
class NodePlanned:
    """A planned JavaScript build."""

    recipe: Recipe
    """The recipe, its packages still empty."""
    manager: Manager
    sources: Sources
    manifests: Mapping[str, Manifest]
    """The solution's, by folder as the project's folder sees it."""
    services: tuple[str, ...] = ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """Dependencies at Git addresses and elsewhere outside the registry."""
        return self.sources.left_out

    def mend(self, fix: Fix) -> "NodePlanned | None":
        """The plan with one fix of the table of remedies; None where it changes nothing."""
        recipe = amend_recipe(self.recipe, fix, self.manifests)
        if recipe is not None:
            return replace(self, recipe=recipe)
        sources = amend_sources(self.sources, fix, self.manifests)
        return replace(self, sources=sources) if sources is not None else None

    def fetch(self, bench: Bench, runtime_image: str) -> Fetched:
        """Install the dependencies once, without any code of the repository, and keep them as one archive."""
        found = fetch(
            bench,
            runtime_image=runtime_image,
            node=NODE_VERSIONS[self.recipe.runtime],
            manager=self.manager,
            ways=ways_of(self.sources, self.manager, self.recipe.as_of),
            own=_own(self.manifests),
            folder=self.recipe.folder,
        )
        if found.resolution is None:
            return Fetched(None, found.obstacles, found.failure, found.failure)
        got = found.resolution
        assert self.recipe.node is not None
        node = self.recipe.node.model_copy(update={"links": got.links, "native": got.native})
        obstacles = list(found.obstacles)
        if got.dropped:
            obstacles.append(_dropped(bench, len(obstacles) + 1, got.dropped))
        return Fetched(
            self.recipe.model_copy(update={"packages": got.packages, "node": node}), tuple(obstacles), log=got.way
        )


class NodeStack:
    """The stack `node`."""

    name = "node"

    def claims_test(self, path: str) -> bool:
        """JavaScript and TypeScript files, and their snapshots."""
        return bool(_CODE.search(path))

    def homes(self, paths: Sequence[str], start: Tree, solution: Tree) -> Mapping[str, str]:
        """By the manifests of the solution that the start has too."""
        manifests = {
            folder: one for folder, one in read_manifests(solution).items() if placed("package.json", folder) in start
        }
        found = {path: node_home(path, solution, manifests) for path in paths}
        return {path: home for path, home in found.items() if home is not None}

    def plan(self, start: Tree, solution: Tree, facts: Facts) -> NodePlanned | NoPlan | None:
        """The union of what both states declare, installed by the repository's own manager.

        Everything is read as the project's folder sees it; what leaves this function is relative to the tree.
        """
        prefix = "" if facts.folder == "." else f"{facts.folder}/"
        hidden = tuple(
            path.removeprefix(prefix)
            for path in facts.hidden_paths
            if self.claims_test(path) and path.startswith(prefix)
        )
        start, whole, solution = within(start, facts.folder), solution, within(solution, facts.folder)
        manifests = read_manifests(solution)
        root = manifests.get(".")
        if root is None or "package.json" not in start:
            return None
        manager = choose_manager(solution, root)
        homes = {home for path in hidden if (home := nearest(path, manifests))}
        asked = [manifests[folder] for folder in sorted({".", *homes})]
        runtime = choose_node({**_versions_above(whole), **solution}, asked, facts.as_of, floor=manager.least_node)
        if runtime is None:
            wishes = ", ".join(str(one.engines_node) for one in asked if one.engines_node)
            return NoPlan(ReasonCode.RUNTIME_NOT_AVAILABLE, f"no Node.js there is an image for satisfies {wishes}")
        testing = plan_testing(solution, manifests, hidden, manager.name)
        if not testing.suites:
            return NoPlan(
                ReasonCode.STACK_NOT_SUPPORTED,
                "no test tool that is known here (jest, vitest, mocha, ava, node's, bun's) is started by the scripts "
                "or among the dependencies",
            )
        recipe = Recipe(
            stack=self.name,
            runtime=runtime,
            as_of=facts.as_of.strftime("%Y-%m-%dT%H:%M:%SZ"),
            project_name=root.name,
            project_version=root.version,
            folder=facts.folder,
            install="links",
            runner="node",
            node=NodeBuild(
                manager=manager.label,
                commands=tuple(_of_tree(command, facts.folder) for command in testing.commands),
                suites=tuple(_of_tree(suite, facts.folder) for suite in testing.suites),
            ),
        )
        return NodePlanned(
            recipe, manager, gather_sources(start, solution, manager, manifests), manifests, ci_services(whole)
        )


_Placed = TypeVar("_Placed", NodeCommand, NodeSuite)


def _of_tree(item: _Placed, folder: str) -> _Placed:
    return item.model_copy(update={"folder": placed(item.folder, folder)})


def _versions_above(tree: Tree) -> Tree:
    """What the root of the tree says of Node.js, for a project in a folder."""
    named = (".nvmrc", ".node-version", ".tool-versions", ".devcontainer.json")
    automation = (".github/workflows/", ".devcontainer/")
    return {path: file for path, file in tree.items() if path in named or path.startswith(automation)}


def _own(manifests: Mapping[str, Manifest]) -> tuple[str, ...]:
    """Names of the project's packages; not of those that tests and examples bring as data."""
    kinds = (PathKind.SOURCE, PathKind.CONFIGURATION)
    names = {
        one.name
        for folder, one in manifests.items()
        if one.name and (folder == "." or kind_of(posixpath.join(folder, "index.js")) in kinds)
    }
    return tuple(sorted(names))


def _dropped(bench: Bench, attempt: int, dropped: tuple[str, ...]) -> ObstacleRow:
    return ObstacleRow(
        candidate_id=bench.candidate_id,
        phase=Phase.ARCHAEOLOGY,
        attempt=attempt,
        symptom=f"among the dependencies: {', '.join(dropped)[:300]}",
        remedy="taken out",
        resolved=True,
    )
