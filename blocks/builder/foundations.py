"""Which foundation a recipe stands on."""

from collections.abc import Mapping

from blocks.builder.cpp_foundation import CppFoundation
from blocks.builder.foundation import Foundation
from blocks.builder.node_foundation import NodeFoundation
from blocks.builder.python_foundation import PythonFoundation
from blocks.errors import PermanentError
from blocks.recipe import Recipe

FOUNDATIONS: Mapping[str, Foundation] = {"python": PythonFoundation(), "cpp": CppFoundation(), "node": NodeFoundation()}
"""By the recipe's stack."""


def foundation_of(recipe: Recipe) -> Foundation:
    """The foundation of a recipe.

    Raises:
        PermanentError: no such stack.
    """
    if recipe.stack not in FOUNDATIONS:
        raise PermanentError(f"stack {recipe.stack!r}: not built by this version; it knows {', '.join(FOUNDATIONS)}")
    return FOUNDATIONS[recipe.stack]
