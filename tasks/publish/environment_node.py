"""environment/ of JavaScript tasks: Node.js, the package manager and the tree of dependencies travel along."""

from collections.abc import Sequence

from blocks.builder.node_archive import RUNTIME_FILENAME
from blocks.builder.node_foundation import command_environment
from blocks.builder.node_layer import ENTRIES, NODE_GYP, command_of
from blocks.builder.node_places import DEPENDENCIES, NODE_TOOLS, TREE_FILENAME, TREE_PACKAGE, caches
from blocks.builder.places import in_workspace
from blocks.engine.node_runtime import IMAGE_CHANGES, NODE_VERSIONS
from blocks.engine.runtime import DEFAULT_PYTHON, PYTHON_PACKAGES, PYTHON_RELEASES
from blocks.errors import PermanentError
from blocks.recipe import NodeBuild, NodeCommand, Package, Recipe
from blocks.records import Record
from blocks.trees import File
from tasks.publish.dockerfile import check_words, debs_of, dockerfile, words


class Manager(Record):
    """A package manager other than npm, as the Dockerfile unpacks it."""

    name: str
    filename: str
    entries: tuple[str, ...]
    command: str


class Command(Record):
    """A build command, with its folder and its variables as words."""

    folder: str
    argv: tuple[str, ...]
    environment: tuple[str, ...]


def node_dockerfile(recipe: Recipe) -> File:
    """The Dockerfile.

    Raises:
        PermanentError: the recipe does not say how it is built, or holds what may not be written there.
    """
    node = recipe.node
    if node is None:
        raise PermanentError("the recipe does not say how a JavaScript project is built; run archaeology again")
    check_words((recipe.folder, *node.links, *node.native, *(command.folder for command in node.commands)))
    check_words(tuple(word for command in node.commands for word in command.argv))
    managers = [item for item in vendored(recipe) if item.name != TREE_PACKAGE]
    names = [item.filename for item in vendored(recipe)]
    return dockerfile(
        "Dockerfile-node.j2",
        recipe,
        release=PYTHON_RELEASES[DEFAULT_PYTHON],
        debian_packages=set(PYTHON_PACKAGES),
        runtime_changes=IMAGE_CHANGES,
        node_version=NODE_VERSIONS[recipe.runtime],
        runtime_filename=RUNTIME_FILENAME,
        tree_filename=TREE_FILENAME if TREE_FILENAME in names else None,
        managers=[_manager(item) for item in managers],
        native=node.native,
        node_gyp=NODE_GYP,
        dependencies=DEPENDENCIES,
        tools=NODE_TOOLS,
        caches=caches(recipe.folder),
        links=node.links,
        commands=_commands(recipe, node),
    )


def vendored(recipe: Recipe, runtime: Sequence[Package] = ()) -> tuple[Package, ...]:
    """What lies under vendor/: all but Debian's packages."""
    debs = debs_of(recipe)
    return (*(item for item in recipe.packages if item not in debs), *runtime)


def _manager(item: Package) -> Manager:
    check_words((item.filename,))
    return Manager(name=item.name, filename=item.filename, entries=ENTRIES[item.name], command=command_of(item.name))


def _commands(recipe: Recipe, node: NodeBuild) -> list[Command]:
    """As blocks/builder/node_foundation.py runs them when the image is sealed."""
    return [_command(recipe, command) for command in node.commands]


def _command(recipe: Recipe, command: NodeCommand) -> Command:
    environment = tuple(words(command_environment(recipe, command)))
    return Command(folder=in_workspace(command.folder), argv=command.argv, environment=environment)
