"""The stacks that are built for real, in the order they are asked, and which project of a tree is built with one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from blocks.records import ReasonCode
from blocks.trees import Tree
from tasks.archaeology.cpp.stack import CppStack
from tasks.archaeology.node.stack import NodeStack
from tasks.archaeology.python_stack import PythonStack
from tasks.archaeology.stack import Facts, NoPlan, Planned, Stack

STACKS: Sequence[Stack] = (PythonStack(), CppStack(), NodeStack())
ONE_RUNNER = "not built, and not in the verifier: one has one project and one runner"


@dataclass(frozen=True)
class Choice:
    """The project that is built, and what is said of the others."""

    planned: Planned
    unbuilt: tuple[str, ...] = ()
    """The outcome's tests that belong to other projects, one line each."""


def known_stacks() -> str:
    """Their names, for messages."""
    return ", ".join(stack.name for stack in STACKS)


def claimed(paths: Sequence[str]) -> list[Stack]:
    """The stacks that any of the hidden test files belongs to, the one with most of them first."""
    counts = {stack.name: sum(stack.claims_test(path) for path in paths) for stack in STACKS}
    return sorted((stack for stack in STACKS if counts[stack.name]), key=lambda stack: -counts[stack.name])


def plan_build(start: Tree, solution: Tree, facts: Facts) -> Choice | NoPlan:
    """The plan of the first claiming stack, for the folder with most of its hidden tests, that has its manifests."""
    stacks = claimed(facts.hidden_paths)
    homes = {
        stack.name: stack.homes([path for path in facts.hidden_paths if stack.claims_test(path)], start, solution)
        for stack in stacks
    }
    for stack in stacks:
        for folder in _by_tests(homes[stack.name]):
            planned = stack.plan(start, solution, replace(facts, folder=folder))
            if isinstance(planned, NoPlan):
                return planned
            if planned is not None:
                return Choice(planned, tuple(_unbuilt(homes, stack.name, folder)))
    names = ", ".join(stack.name for stack in stacks)
    return NoPlan(
        ReasonCode.STACK_NOT_SUPPORTED,
        f"the tests are of stack {names}, and neither the root of the tree nor a folder above them holds a manifest of it "
        "that this version builds from, in the start as in the solution",
    )


def _by_tests(homes: Mapping[str, str]) -> list[str]:
    """Folders, the one with most tests first; of equals the outermost."""
    counts = Counter(homes.values())
    return sorted(counts, key=lambda folder: (-counts[folder], folder != ".", folder.count("/"), folder))


def _unbuilt(homes: Mapping[str, Mapping[str, str]], stack: str, folder: str) -> Iterator[str]:
    """Of other projects; a file that the built project may run too is not counted."""
    built = {path for path, home in homes[stack].items() if home == folder}
    for name, found in homes.items():
        for other in _by_tests(found):
            paths = sorted(path for path, home in found.items() if home == other and path not in built)
            if paths and (name, other) != (stack, folder):
                where = "the root" if other == "." else other
                some = ", ".join(paths[:5])[:300]
                yield f"{len(paths)} of the outcome's test files belong to the {name} project in {where}: {some}"
