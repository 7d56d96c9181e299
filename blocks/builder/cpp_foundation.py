"""C and C++: Debian packages as dependencies; nothing is installed from the project, every run builds it anew."""

import shlex

from blocks.builder.cpp_runtime import COMPILERS, ensure_native_runtime
from blocks.builder.debian_packages import ensure_debian_layer
from blocks.builder.foundation import Installed
from blocks.engine import Container, Engine
from blocks.lake import ObjectStore
from blocks.recipe import Package, Recipe
from blocks.settings import Settings


class CppFoundation:
    """The foundation of recipes whose stack is `cpp`. Their runtime is the name of a Debian release."""

    def runtime_image(self, engine: Engine, settings: Settings, recipe: Recipe) -> str | None:
        """Compilers and build systems of the release."""
        return ensure_native_runtime(engine, settings, recipe.runtime)

    def dependency_image(
        self, engine: Engine, store: ObjectStore, settings: Settings, recipe: Recipe, runtime_image: str
    ) -> str:
        """The runtime with the recipe's packages."""
        timeout_sec = settings.timeouts.install_sec
        return ensure_debian_layer(engine, store, recipe, runtime_image, timeout_sec=timeout_sec)

    def install(self, box: Container, recipe: Recipe, *, timeout_sec: int) -> Installed:
        """Nothing: what one state's build leaves would be taken for the other's."""
        del box, timeout_sec
        return Installed(True, recipe, "")

    def sealed_folders(self, recipe: Recipe) -> tuple[str, ...]:
        """The wrappers of the compilers; they are root's already."""
        del recipe
        return (COMPILERS,)

    def shared_folders(self, recipe: Recipe) -> tuple[str, ...]:
        """None."""
        del recipe
        return ()

    def image_changes(self, recipe: Recipe) -> tuple[str, ...]:
        """The wrappers first on the path, and what the tests need."""
        variables = {"PATH": f"{COMPILERS}:/usr/local/bin:/usr/bin:/bin", **dict(recipe.environment)}
        return tuple(f"ENV {name}={shlex.quote(value)}" for name, value in variables.items())

    def vendored(self, engine: Engine, store: ObjectStore, recipe: Recipe, runtime_image: str) -> tuple[Package, ...]:
        """Nothing: Debian has all of it."""
        del engine, store, recipe, runtime_image
        return ()
