"""The dependency layer of a JavaScript candidate: the archive of dependencies and the package manager, outside /app."""

import hashlib
import json
import posixpath

from blocks.builder.dependencies import InstallError
from blocks.builder.node_places import DEPENDENCIES, NODE_TOOLS, TREE_PACKAGE, caches
from blocks.builder.packages import load_package
from blocks.builder.places import AGENT_USER
from blocks.builder.real_folders import first_unreal
from blocks.engine import Container, ContainerSpec, Engine, Role
from blocks.errors import PermanentError
from blocks.lake import ObjectStore
from blocks.recipe import Recipe

LAYER_VERSION = 2
ENTRIES = {
    "pnpm": ("bin/pnpm.cjs", "bin/pnpm.mjs"),
    "yarn": ("bin/yarn.js",),
    "berry": ("bin/yarn.js",),
    "bun": ("bin/bun",),
}
_COMMANDS = {"berry": "yarn"}
NODE_GYP = "/usr/local/lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js"
_COMPILE = f"""
cd "$1" && if grep -q '"install"[[:space:]]*:' package.json; then npm run install; else node {NODE_GYP} rebuild; fi
"""
"""What npm does for a package that has a binding.gyp: its own install script, else node-gyp."""


def command_of(manager: str) -> str:
    """Name of a manager's command."""
    return _COMMANDS.get(manager, manager)


def node_layer_reference(recipe: Recipe, runtime_image: str) -> str:
    """Image reference of the layer: keyed by the hash of what is installed and what it stands on."""
    native = recipe.node.native if recipe.node else ()
    parts: list[object] = [LAYER_VERSION, runtime_image, sorted(package.sha256 for package in recipe.packages), native]
    parts += [recipe.folder] if recipe.folder != "." else []
    return f"envmill/deps:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}"


def ensure_node_layer(
    engine: Engine, store: ObjectStore, recipe: Recipe, runtime_image: str, *, timeout_sec: int
) -> str:
    """The layer's reference; built from the package store, without a network, where the engine does not have it.

    Packages with native code are compiled as the agent user. One that cannot be is left as it is: the layer's
    /deps/native.log says so, and the tests show whether it matters.

    Raises:
        InstallError: the archive cannot be unpacked, or holds links where folders are to be.
    """
    reference = node_layer_reference(recipe, runtime_image)
    if engine.image_id(reference):
        return reference
    with engine.container(ContainerSpec(image=runtime_image, role=Role.BUILD, deadline_sec=timeout_sec + 300)) as box:
        _run(box, ["mkdir", "-p", DEPENDENCIES])
        for package in recipe.packages:
            content = load_package(store, package)
            if package.name == TREE_PACKAGE:
                box.put_archive(content, DEPENDENCIES)
            else:
                install_manager(box, package.name, content)
        _compile(box, recipe, timeout_sec)
        writable = [f"{DEPENDENCIES}/{path}" for path in caches(recipe.folder)]
        _run(box, ["mkdir", "-p", *writable])
        if (moved := first_unreal(box, writable)) is not None:
            raise InstallError(f"a package put something else in the place of the folder {moved}; it is not installed")
        _run(box, ["chmod", "1777", *writable])
        box.commit(reference, labels={"envmill.kind": "dependencies"})
    return reference


def install_manager(box: Container, name: str, archive: bytes) -> None:
    """Unpack a manager's package below NODE_TOOLS and put its command on the path.

    Raises:
        PermanentError: the package is not what is known of it.
    """
    folder = f"{NODE_TOOLS}/{name}"
    _run(box, ["mkdir", "-p", folder])
    box.put_archive(archive, folder)
    for entry in ENTRIES[name]:
        path = f"{folder}/package/{entry}"
        if box.run(["test", "-f", path], timeout_sec=30).ok:
            _run(box, ["chmod", "755", path])
            _run(box, ["ln", "-sfn", path, f"/usr/local/bin/{command_of(name)}"])
            return
    raise PermanentError(f"the package of {name} holds none of {', '.join(ENTRIES[name])}")


def _compile(box: Container, recipe: Recipe, timeout_sec: int) -> None:
    log: list[str] = []
    for folder in recipe.node.native if recipe.node else ():
        path = posixpath.normpath(f"{DEPENDENCIES}/{folder}")
        if not path.startswith(f"{DEPENDENCIES}/") or first_unreal(box, [path]) is not None:
            # A package above it, compiled before, may have put a link to a system folder in its place.
            log.append(f"{folder}: not compiled, it is no folder of its own\n")
            continue
        _run(box, ["chown", "-R", "-h", AGENT_USER, path])
        environment = {"HOME": "/tmp/agent", "npm_config_offline": "true"}
        argv = ["sh", "-c", _COMPILE, "sh", path]
        done = box.run(argv, user=AGENT_USER, environment=environment, timeout_sec=timeout_sec)
        box.run(["sh", "-c", "kill -KILL -1"], user=AGENT_USER, timeout_sec=30)  # What it left must not write on.
        log.append(f"{folder}: ended with {done.exit_code}\n{done.output[-4000:]}\n")
        _run(box, ["chown", "-R", "-h", "root:root", path])
    if log:
        box.put_file(f"{DEPENDENCIES}/native.log", "".join(log).encode())
        _run(box, ["find", "/tmp", "-mindepth", "1", "-delete"])


def _run(box: Container, argv: list[str]) -> None:
    done = box.run(argv, user="root", timeout_sec=300)
    if not done.ok:
        raise InstallError(f"installing the dependencies failed ({argv[0]}): {done.output[-2000:]}")
