"""The stacks that are built for real, in the order they are asked."""

from collections.abc import Sequence

from blocks.records import ReasonCode
from blocks.trees import Tree
from tasks.archaeology.cpp.stack import CppStack
from tasks.archaeology.node.stack import NodeStack
from tasks.archaeology.python_stack import PythonStack
from tasks.archaeology.stack import Facts, NoPlan, Planned, Stack

STACKS: Sequence[Stack] = (PythonStack(), CppStack(), NodeStack())


def known_stacks() -> str:
    """Their names, for messages."""
    return ", ".join(stack.name for stack in STACKS)


def claimed(paths: Sequence[str]) -> list[Stack]:
    """The stacks that any of the hidden test files belongs to, the one with most of them first."""
    counts = {stack.name: sum(stack.claims_test(path) for path in paths) for stack in STACKS}
    return sorted((stack for stack in STACKS if counts[stack.name]), key=lambda stack: -counts[stack.name])


def plan_build(start: Tree, solution: Tree, facts: Facts) -> Planned | NoPlan:
    """The plan of the first claiming stack whose manifests are there."""
    stacks = claimed(facts.hidden_paths)
    for stack in stacks:
        planned = stack.plan(start, solution, facts)
        if planned is not None:
            return planned
    names = ", ".join(stack.name for stack in stacks)
    return NoPlan(
        ReasonCode.STACK_NOT_SUPPORTED,
        f"the tests are of stack {names}, and the root of the tree holds no manifest of it that this version builds from",
    )
