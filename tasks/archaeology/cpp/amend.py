"""What a remedy changes about a plan: more packages, the other Debian release, an option or a variable."""

from blocks.recipe import Recipe
from tasks.archaeology.cpp.names import Names
from tasks.archaeology.cpp.release import NEWER, OLDER
from tasks.archaeology.remedies import Action, Fix


def amended(recipe: Recipe, fix: Fix, names: Names) -> Recipe | None:
    """The recipe with one fix; None where it changes nothing or is nothing to C and C++."""
    if fix.action is Action.RUNTIME:
        release = {"newer": NEWER, "older": OLDER}.get(fix.argument, recipe.runtime)
        changes: dict[str, object] = {"runtime": release, "as_of": f"debian {release}"}
    elif fix.action is Action.ADD_OPTION and recipe.build is not None:
        options = tuple(dict.fromkeys((*recipe.build.options, fix.argument)))
        changes = {"build": recipe.build.model_copy(update={"options": options})}
    elif fix.action is Action.SET_ENVIRONMENT:
        name, _, value = fix.argument.partition("=")
        changes = {"environment": tuple(sorted({**dict(recipe.environment), name: value}.items()))}
    else:
        changes = {"requirements": tuple(sorted({*recipe.requirements, *_packages(fix, names)}))}
    changed = recipe.model_copy(update=changes)
    return None if changed == recipe else changed


def _packages(fix: Fix, names: Names) -> tuple[str, ...]:
    asked = fix.argument.strip()
    if fix.action is Action.ADD_HEADER:
        return names.of_header(asked)
    if fix.action is Action.ADD_LIBRARY:
        return names.of_cmake(asked) or names.of_module(asked)
    if fix.action is Action.ADD_COMMAND:
        return names.of_tool(asked)
    return (asked,) if fix.action is Action.ADD_SYSTEM_PACKAGE else ()
