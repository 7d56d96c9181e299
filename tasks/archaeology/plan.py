"""From two trees to a recipe: which runtime, which requirements, as of when, run how."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from blocks.builder.project import source_roots
from blocks.engine.runtime import PYTHON_RELEASES
from blocks.recipe import Recipe
from blocks.records import ReasonCode
from blocks.trees import Tree
from tasks.archaeology.folders import placed, seen_from, within
from tasks.archaeology.manifests import Declared, fetchable, read_manifests, requirement_lines
from tasks.archaeology.outside import ci_services
from tasks.archaeology.pytest_config import PytestConfig, read_pytest_config
from tasks.archaeology.python_names import Names, python_names
from tasks.archaeology.stack import NoPlan
from tasks.archaeology.versions import runtimes
from tasks.archaeology.workflows import Automation, read_automation


@dataclass(frozen=True)
class Plan:
    """A recipe without packages yet, and what its fetch asks for."""

    recipe: Recipe
    full: tuple[str, ...]
    """What both states, the project's optional features and its automation need."""
    union: tuple[str, ...]
    """What both states need."""
    solution_only: tuple[str, ...]
    left_out: tuple[str, ...]
    as_of: datetime
    runtimes: tuple[str, ...]
    """Versions that the project allows, the chosen one first."""
    modules: tuple[tuple[str, str], ...]
    """Top-level modules that the trees hold, each with the folder it lies in: no index is asked for those."""
    services: tuple[str, ...] = ()
    """What CI starts beside the tests; nothing is started here."""


def plan(
    start: Tree, solution: Tree, *, as_of: datetime, nearest_tag: str | None, folder: str = "."
) -> Plan | NoPlan | None:
    """Read both trees' manifests as data and plan the union of what they need; None where one has none in the folder."""
    declared, wanted = read_manifests(seen_from(start, folder)), read_manifests(seen_from(solution, folder))
    if declared is None or wanted is None:
        return None
    names = python_names()
    automation = read_automation(solution, names, folder)
    named = (*wanted.pythons, *automation.pythons) or automation.image_pythons
    allowed = runtimes((declared.requires_python, wanted.requires_python), named, as_of)
    if not allowed:
        return NoPlan(
            ReasonCode.RUNTIME_NOT_AVAILABLE,
            f"requires-python is {wanted.requires_python!r}; runtime images exist for {', '.join(PYTHON_RELEASES)}",
        )
    told = _told(seen_from(solution, folder), automation, wanted)
    config = _configured(read_pytest_config(solution, folder), automation)
    solution_only = _needs(wanted, names, () if wanted.test else told)
    union = _once(solution_only, _needs(declared, names))
    full = _once(union, wanted.features, declared.features, told)
    recipe = Recipe(
        stack="python",
        runtime=allowed[0],
        system_packages=automation.commands.system_packages,
        requirements=full,
        as_of=as_of.strftime("%Y-%m-%dT%H:%M:%SZ"),
        project_name=wanted.name,
        project_version=version_of_tag(nearest_tag),
        last_release=version_of_tag(nearest_tag),
        folder=folder,
        source_roots=tuple(placed(root, folder) for root in source_roots(within(start, folder))),
        ini_lines=config.ini_lines,
        arguments=config.arguments,
        environment=automation.environment,
    )
    return Plan(
        recipe=recipe,
        full=full,
        union=union,
        solution_only=solution_only,
        left_out=_once(declared.left_out, wanted.left_out),
        as_of=as_of,
        runtimes=allowed,
        modules=own_modules(seen_from({**start, **solution}, folder)),
        services=tuple(dict.fromkeys((*ci_services(solution), *automation.services))),
    )


def version_of_tag(tag: str | None) -> str | None:
    """The version a tag such as `v1.2.3` or `name-1.2.3` names."""
    found = re.search(r"(\d+(?:\.\d+)+(?:(?:a|b|rc|\.post|\.dev)\d+)?)$", tag or "")
    return found[1] if found else None


def own_modules(tree: Tree) -> tuple[tuple[str, str], ...]:
    """Modules and packages of the tree with the folder that has to be on the import path; the shortest folder wins."""
    found: dict[str, str] = {}
    for path in sorted(tree, key=lambda path: (path.count("/"), path)):
        folder, _, name = path.rpartition("/")
        if name == "__init__.py":
            parent, _, package = folder.rpartition("/")
            if package.strip(".") and f"{parent}/__init__.py".lstrip("/") not in tree:
                found.setdefault(package, parent or ".")
        elif name.endswith(".py"):
            found.setdefault(name.removesuffix(".py"), folder or ".")
    return tuple(sorted(found.items()))


def _told(tree: Tree, automation: Automation, declared: Declared) -> tuple[str, ...]:
    """Requirements that the automation installs, as an index can serve them."""
    commands = automation.commands
    lines = [line for path in commands.requirement_files for line in requirement_lines(tree, path)]
    kept, _ = fetchable((*commands.requirements, *lines), own_name=declared.name, groups=dict(declared.groups))
    return kept


def _configured(config: PytestConfig, automation: Automation) -> PytestConfig:
    """The project's configuration, with what the commands of its automation add to it."""
    keys = {line.partition("=")[0].strip() for line in config.ini_lines}
    lines = list(config.ini_lines)
    commands = automation.commands
    if commands.test_files and "python_files" not in keys:
        lines.append("python_files = " + " ".join(_once(commands.test_files, ("test_*.py", "*_test.py"))))
    roots = (*((".",) if commands.from_root else ()), *commands.above)
    if roots and "pythonpath" not in keys:
        lines.append(f"pythonpath = {' '.join(roots)}")
    known = {word.partition("=")[0] for word in config.arguments}
    added = () if known & {word.partition("=")[0] for word in commands.arguments} else commands.arguments
    return config.model_copy(update={"ini_lines": tuple(lines), "arguments": (*config.arguments, *added)})


def _needs(declared: Declared, names: Names, told: Iterable[str] = ()) -> tuple[str, ...]:
    backend = names.backends.get(declared.build_backend or "", ())
    needs = dict.fromkeys((*declared.runtime, *declared.test, *declared.build, *told))
    named = {canonicalize_name(Requirement(item).name) for item in needs}
    for always in ("pytest", "setuptools", "wheel", *backend):
        if always not in named:
            needs[always] = None
    return tuple(needs)


def _once(*items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for some in items for item in some))
