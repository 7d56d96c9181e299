"""From two trees to a recipe: which runtime, which requirements, as of when, run how."""

import re
from dataclasses import dataclass
from datetime import datetime

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from blocks.builder.project import source_roots
from blocks.recipe import Recipe
from blocks.records import ReasonCode
from blocks.trees import Tree
from tasks.archaeology.manifests import Declared, read_manifests
from tasks.archaeology.pytest_config import read_pytest_config
from tasks.archaeology.stack import NoPlan

RUNTIMES = ("3.11",)
"""Python versions a runtime image can be made for, best first."""


@dataclass(frozen=True)
class Plan:
    """A recipe without packages yet, and what its fetch asks for."""

    recipe: Recipe
    full: tuple[str, ...]
    """What both states and the project's optional features need."""
    union: tuple[str, ...]
    """What both states need."""
    solution_only: tuple[str, ...]
    left_out: tuple[str, ...]


def plan(start: Tree, solution: Tree, *, as_of: datetime, nearest_tag: str | None) -> Plan | NoPlan | None:
    """Read both trees' manifests as data and plan the union of what they need; None where one tree has no manifest."""
    declared, wanted = read_manifests(start), read_manifests(solution)
    if declared is None or wanted is None:
        return None
    runtime = next((version for version in RUNTIMES if _allows(declared, version) and _allows(wanted, version)), None)
    if runtime is None:
        return NoPlan(
            ReasonCode.RUNTIME_NOT_AVAILABLE,
            f"requires-python is {wanted.requires_python!r}; runtime images exist for {', '.join(RUNTIMES)}",
        )
    config = read_pytest_config(solution)
    solution_only = _needs(wanted)
    union = tuple(dict.fromkeys((*solution_only, *_needs(declared))))
    full = tuple(dict.fromkeys((*union, *wanted.features, *declared.features)))
    recipe = Recipe(
        stack="python",
        runtime=runtime,
        requirements=full,
        as_of=as_of.strftime("%Y-%m-%dT%H:%M:%SZ"),
        project_name=wanted.name,
        project_version=version_of_tag(nearest_tag),
        source_roots=source_roots(start),
        ini_lines=config.ini_lines,
        arguments=config.arguments,
    )
    return Plan(recipe, full, union, solution_only, tuple(dict.fromkeys((*declared.left_out, *wanted.left_out))))


def version_of_tag(tag: str | None) -> str | None:
    """The version a tag such as `v1.2.3` or `name-1.2.3` names."""
    found = re.search(r"(\d+(?:\.\d+)+(?:(?:a|b|rc|\.post|\.dev)\d+)?)$", tag or "")
    return found[1] if found else None


def _needs(declared: Declared) -> tuple[str, ...]:
    needs = dict.fromkeys((*declared.runtime, *declared.test, *declared.build))
    named = {canonicalize_name(Requirement(item).name) for item in needs}
    for always in ("pytest", "setuptools", "wheel"):
        if always not in named:
            needs[always] = None
    return tuple(needs)


def _allows(declared: Declared, version: str) -> bool:
    if not declared.requires_python:
        return True
    try:
        return SpecifierSet(declared.requires_python).contains(f"{version}.2")
    except InvalidSpecifier:
        return True
