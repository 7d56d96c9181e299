"""A Python plan, changed by one fix of the table of remedies."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tasks.archaeology.plan import Plan
from tasks.archaeology.python_names import python_names
from tasks.archaeology.remedies import Action, Fix


def amend(plan: Plan, fix: Fix) -> Plan | None:
    """The plan with the fix; None where the fix says nothing that can be done, or changes nothing."""
    changed = _AMENDMENTS[fix.action](plan, fix.argument)
    return changed if changed is not None and changed != plan else None


def _module(plan: Plan, module: str) -> Plan | None:
    top = module.partition(".")[0]
    folder = dict(plan.modules).get(top)
    if folder is not None:
        return _import_path(plan, folder)
    own = plan.recipe.project_name
    if own and canonicalize_name(top) == canonicalize_name(own):
        return None  # A part of the project itself is never asked of an index: somebody else may own that name there.
    names = python_names()
    if top in names.standard:
        return _system(plan, names.standard[top])
    distribution = names.distribution(module)
    return _requirement(plan, distribution) if distribution else None


def _import_path(plan: Plan, folder: str) -> Plan:
    """A folder of the workspace on the import path, as `python -m pytest` from there would have it."""
    lines = list(plan.recipe.ini_lines)
    position = next((number for number, line in enumerate(lines) if re.match(r"pythonpath\s*=", line)), None)
    if position is None:
        lines.append(f"pythonpath = {folder}")
    elif folder not in lines[position].partition("=")[2].split():
        lines[position] += f" {folder}"
    return replace(plan, recipe=plan.recipe.model_copy(update={"ini_lines": tuple(lines)}))


def _requirement(plan: Plan, text: str) -> Plan | None:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    own = plan.recipe.project_name
    if requirement.url or (own and canonicalize_name(requirement.name) == canonicalize_name(own)):
        return None
    return _needs(plan, lambda items: items if text in items else (*items, text))


def _looked_up(table: str) -> Callable[[Plan, str], Plan | None]:
    def change(plan: Plan, argument: str) -> Plan | None:
        names: Mapping[str, str] = getattr(python_names(), table)
        found = names.get(argument)
        return _requirement(plan, found) if found else None

    return change


def _system(plan: Plan, package: str) -> Plan | None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", package) or package in plan.recipe.system_packages:
        return None
    packages = (*plan.recipe.system_packages, package)
    return replace(plan, recipe=plan.recipe.model_copy(update={"system_packages": packages}))


def _command(plan: Plan, command: str) -> Plan | None:
    package = python_names().commands.get(command)
    return _system(plan, package) if package else None


def _header(plan: Plan, header: str) -> Plan | None:
    package = python_names().header_package(header)
    return _system(plan, package) if package else None


def _library(plan: Plan, file: str) -> Plan | None:
    package = python_names().library_package(file)
    return _system(plan, package) if package else None


def _drop(plan: Plan, name: str) -> Plan | None:
    changed = _needs(plan, lambda items: tuple(item for item in items if _name(item) != canonicalize_name(name)))
    return replace(changed, left_out=(*plan.left_out, name)) if changed != plan else None


def _loosen(plan: Plan, name: str) -> Plan | None:
    def loose(item: str) -> str:
        if _name(item) != canonicalize_name(name):
            return item
        requirement = Requirement(item)
        extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
        return requirement.name + extras + (f"; {requirement.marker}" if requirement.marker else "")

    return _needs(plan, lambda items: tuple(dict.fromkeys(loose(item) for item in items)))


def _environment(plan: Plan, assignment: str) -> Plan | None:
    name, _, value = assignment.partition("=")
    variables = dict(plan.recipe.environment)
    if name in variables:
        return None
    variables[name] = value
    return replace(plan, recipe=plan.recipe.model_copy(update={"environment": tuple(sorted(variables.items()))}))


def _version(plan: Plan, version: str) -> Plan | None:
    if plan.recipe.project_version:
        return None
    return replace(plan, recipe=plan.recipe.model_copy(update={"project_version": version}))


def _later(plan: Plan, days: str) -> Plan:
    as_of = plan.as_of + timedelta(days=int(days))
    recipe = plan.recipe.model_copy(update={"as_of": as_of.strftime("%Y-%m-%dT%H:%M:%SZ")})
    return replace(plan, as_of=as_of, recipe=recipe)


def _runtime(plan: Plan, direction: str) -> Plan | None:
    """The nearest version in that direction that the project allows."""
    order = sorted(plan.runtimes, key=lambda version: int(version.partition(".")[2]))
    step = 1 if direction == "newer" else -1
    position = order.index(plan.recipe.runtime) + step
    if not 0 <= position < len(order):
        return None
    return replace(plan, recipe=plan.recipe.model_copy(update={"runtime": order[position]}))


def _needs(plan: Plan, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Plan:
    changed = replace(plan, full=change(plan.full), union=change(plan.union), solution_only=change(plan.solution_only))
    return replace(changed, recipe=plan.recipe.model_copy(update={"requirements": changed.full}))


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


_AMENDMENTS: Mapping[Action, Callable[[Plan, str], Plan | None]] = {
    Action.ADD_REQUIREMENT: _requirement,
    Action.ADD_MODULE: _module,
    Action.ADD_FIXTURE: _looked_up("fixtures"),
    Action.ADD_OPTION: _looked_up("options"),
    Action.ADD_SYSTEM_PACKAGE: _system,
    Action.ADD_COMMAND: _command,
    Action.ADD_HEADER: _header,
    Action.ADD_LIBRARY: _library,
    Action.DROP_REQUIREMENT: _drop,
    Action.LOOSEN_REQUIREMENT: _loosen,
    Action.SET_ENVIRONMENT: _environment,
    Action.SET_VERSION: _version,
    Action.LATER: _later,
    Action.RUNTIME: _runtime,
}
