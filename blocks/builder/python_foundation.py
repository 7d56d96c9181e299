"""Python: a virtual environment outside the workspace; the project installed editable, else its folders on the path."""

import shlex

from blocks.builder.debian_packages import ensure_debian_layer
from blocks.builder.dependencies import ensure_dependency_image
from blocks.builder.foundation import Installed
from blocks.builder.places import VENV
from blocks.builder.project import install_develop, install_editable, install_path
from blocks.engine import Container, Engine, ensure_python_runtime
from blocks.lake import ObjectStore
from blocks.recipe import Package, Recipe
from blocks.settings import Settings


class PythonFoundation:
    """The foundation of recipes whose stack is `python`."""

    def runtime_image(self, engine: Engine, settings: Settings, recipe: Recipe) -> str | None:
        """The image of this Python version."""
        return ensure_python_runtime(engine, settings, recipe.runtime)

    def dependency_image(
        self, engine: Engine, store: ObjectStore, settings: Settings, recipe: Recipe, runtime_image: str
    ) -> str:
        """Debian packages, and on them the virtual environment with everything but the project."""
        timeout_sec = settings.timeouts.install_sec
        debian = tuple(package for package in recipe.packages if package.filename.endswith(".deb"))
        wheels = tuple(package for package in recipe.packages if package not in debian)
        system = recipe.model_copy(update={"packages": debian})
        below = ensure_debian_layer(engine, store, system, runtime_image, timeout_sec=timeout_sec)
        python = recipe.model_copy(update={"packages": wheels})
        return ensure_dependency_image(engine, store, python, below, timeout_sec=timeout_sec)

    def install(self, box: Container, recipe: Recipe, *, timeout_sec: int) -> Installed:
        """An editable install; where the backend knows none, setup.py's own; where that fails, the path.

        A recipe that says how it was done in the end has it done that way.
        """
        if recipe.install == "path":
            install_path(box, recipe)
            return Installed(True, recipe, "")
        if recipe.install == "develop":
            done = install_develop(box, recipe, timeout_sec=timeout_sec)
            return Installed(done.ok, recipe, done.output, "" if done.ok else "setup.py develop failed")
        done = install_editable(box, recipe, timeout_sec=timeout_sec)
        if done.ok:
            return Installed(True, recipe, done.output)
        if "no attribute 'build_editable'" in done.output:
            legacy = install_develop(box, recipe, timeout_sec=timeout_sec)
            if legacy.ok:
                return Installed(
                    True,
                    recipe.model_copy(update={"install": "develop"}),
                    legacy.output,
                    symptom="the build backend is from before PEP 660 and knows no editable install",
                    remedy="setup.py develop",
                )
        install_path(box, recipe)
        return Installed(
            True,
            recipe.model_copy(update={"install": "path"}),
            done.output,
            symptom=f"editable install failed: {done.output.strip()[-300:]}",
            remedy="source folders on the path, metadata written by hand",
        )

    def sealed_folders(self, recipe: Recipe) -> tuple[str, ...]:
        """The virtual environment."""
        del recipe
        return (VENV,)

    def shared_folders(self, recipe: Recipe) -> tuple[str, ...]:
        """None."""
        del recipe
        return ()

    def image_changes(self, recipe: Recipe) -> tuple[str, ...]:
        """The virtual environment first on the path, and what the tests need."""
        path = f"{VENV}/bin:/usr/local/bin:/usr/bin:/bin"
        variables = {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **dict(recipe.environment)}
        return tuple(f"ENV {name}={shlex.quote(value)}" for name, value in variables.items())

    def vendored(self, engine: Engine, store: ObjectStore, recipe: Recipe, runtime_image: str) -> tuple[Package, ...]:
        """Nothing: Debian has all of it."""
        del engine, store, recipe, runtime_image
        return ()
