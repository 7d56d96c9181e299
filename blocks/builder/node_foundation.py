"""JavaScript and TypeScript: dependencies outside the workspace, links to them inside, then what has to be built."""

import shlex

from blocks.builder.foundation import Installed
from blocks.builder.installer_times import BUILD_TIME
from blocks.builder.node_archive import keep_node_runtime
from blocks.builder.node_layer import ensure_node_layer
from blocks.builder.node_places import DEPENDENCIES, caches
from blocks.builder.places import AGENT_USER, WORKSPACE, in_workspace
from blocks.engine import Container, Engine, Role
from blocks.engine.node_runtime import ensure_node_runtime
from blocks.lake import ObjectStore
from blocks.recipe import NodeCommand, Package, Recipe
from blocks.settings import Settings

_LINK = f"""
for link; do
  place={WORKSPACE}/$link
  [ -d "$(dirname "$place")" ] && [ ! -e "$place" ] && [ ! -L "$place" ] && ln -s {DEPENDENCIES}/$link "$place"
done
true
"""


def command_environment(recipe: Recipe, command: NodeCommand) -> dict[str, str]:
    """Variables of a build command: the folder's own commands first on the path, then the project's."""
    folders = (in_workspace(command.folder), in_workspace(recipe.folder))
    bins = ":".join(f"{folder}/node_modules/.bin" for folder in folders)
    variables = {"PATH": f"{bins}:/usr/local/bin:/usr/bin:/bin", "CI": "1", "HOME": "/home/agent"}
    return {**variables, **BUILD_TIME, "npm_config_offline": "true", **dict(recipe.environment)}


class NodeFoundation:
    """The foundation of recipes whose stack is `node`."""

    def runtime_image(self, engine: Engine, settings: Settings, recipe: Recipe) -> str | None:
        """The image of this major version of Node.js."""
        return ensure_node_runtime(engine, settings, recipe.runtime)

    def dependency_image(
        self, engine: Engine, store: ObjectStore, settings: Settings, recipe: Recipe, runtime_image: str
    ) -> str:
        """Everything the project depends on, and its package manager."""
        return ensure_node_layer(engine, store, recipe, runtime_image, timeout_sec=settings.timeouts.install_sec)

    def install(self, box: Container, recipe: Recipe, *, timeout_sec: int) -> Installed:
        """Links into the dependencies; for an image also what the build commands make, which the agent then finds.

        Where tests follow, in a subject container, the runner builds right before them, whatever the state. A build that
        fails is told; the tests show what it meant.
        """
        node = recipe.node
        if node is None:
            return Installed(False, recipe, "the recipe does not say how a JavaScript project is built")
        done = box.run(["sh", "-c", _LINK, "sh", *node.links], user=AGENT_USER, timeout_sec=60)
        if not done.ok:
            return Installed(False, recipe, done.output)
        output, failed = done.output, ""
        for command in node.commands if box.spec.role is Role.BUILD else ():
            done = box.run(
                list(command.argv),
                user=AGENT_USER,
                workdir=in_workspace(command.folder),
                environment=command_environment(recipe, command),
                timeout_sec=timeout_sec,
            )
            output += done.output
            if not done.ok and not failed:
                failed = f"{' '.join(command.argv)} in {command.folder} failed: {done.output.strip()[-300:]}"
        return Installed(True, recipe, output, symptom=failed, remedy="tests run on what was built" if failed else "")

    def sealed_folders(self, recipe: Recipe) -> tuple[str, ...]:
        """The dependencies."""
        del recipe
        return (DEPENDENCIES,)

    def shared_folders(self, recipe: Recipe) -> tuple[str, ...]:
        """Where test tools and bundlers write, by way of the link: vite cannot even read its configuration without."""
        return tuple(f"{DEPENDENCIES}/{path}" for path in caches(recipe.folder))

    def image_changes(self, recipe: Recipe) -> tuple[str, ...]:
        """The dependencies' commands on the path, and what the tests need."""
        path = f"{in_workspace(recipe.folder)}/node_modules/.bin:/usr/local/bin:/usr/bin:/bin"
        variables = {"PATH": path, "npm_config_offline": "true", **dict(recipe.environment)}
        return tuple(f"ENV {name}={shlex.quote(value)}" for name, value in variables.items())

    def vendored(self, engine: Engine, store: ObjectStore, recipe: Recipe, runtime_image: str) -> tuple[Package, ...]:
        """Node.js itself, with npm."""
        return (keep_node_runtime(engine, store, recipe.runtime, runtime_image),)
