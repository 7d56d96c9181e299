"""What the Dockerfiles of all stacks have in common, and the check of values that are written into one."""

import re
from collections.abc import Mapping

from blocks.builder.foundations import foundation_of
from blocks.builder.places import AGENT_UID, AGENT_USER, WORKSPACE
from blocks.errors import PermanentError
from blocks.recipe import Package, Recipe
from blocks.templates import render
from blocks.trees import File

DEBS = "debs/"


def dockerfile(template: str, recipe: Recipe, *, release: str, debian_packages: set[str], **values: object) -> File:
    """A stack's Dockerfile.

    Args:
        template: below data/templates/publish.
        recipe: what is built.
        release: Debian release of the base image.
        debian_packages: names that the base image has, or Debian.
        values: what the stack's own part of the template asks for.

    Raises:
        PermanentError: the recipe holds a name or value that may not be written into a Dockerfile.
    """
    for name in debian_packages:
        if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name):
            raise PermanentError(f"system package {name[:80]!r} is not a Debian package name; correct the recipe")
    for name, value in recipe.environment:
        check_variable(name, value)
    check_words((recipe.folder,))
    content = render(
        template,
        base=f"debian:{release}-slim",
        debian_packages=sorted(debian_packages),
        debs=bool(debs_of(recipe)),
        agent=AGENT_USER,
        uid=AGENT_UID,
        workspace=WORKSPACE,
        image_changes=foundation_of(recipe).image_changes(recipe),
        **values,
    )
    return File(content=content)


def debs_of(recipe: Recipe) -> tuple[Package, ...]:
    """Debian packages that were fetched for the recipe."""
    return tuple(item for item in recipe.packages if item.filename.endswith(".deb"))


def words(environment: Mapping[str, str]) -> list[str]:
    """Variables as `NAME=value` words for `env`.

    Raises:
        PermanentError: a name or value that cannot be written.
    """
    for name, value in environment.items():
        check_variable(name, value)
    return [f"{name}={value}" for name, value in sorted(environment.items())]


def check_variable(name: str, value: str) -> None:
    """Refuse a variable that would become more than one line.

    Raises:
        PermanentError: names it.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or not value.isprintable():
        raise PermanentError(f"variable {name[:80]!r} cannot be written into a Dockerfile; correct the recipe")


def check_words(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts, each of which stays on one line.

    Raises:
        PermanentError: one does not.
    """
    for text in texts:
        if not text.isprintable():
            raise PermanentError(f"{text[:80]!r} cannot be written into a Dockerfile; correct the recipe")
    return texts
