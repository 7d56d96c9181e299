"""The dependency layer: one image per set of installed packages, without the project itself, shared by candidates."""

import hashlib
import json

from blocks.builder.installer_times import forget_times
from blocks.builder.packages import wheelhouse
from blocks.builder.places import AGENT_USER, PYTHON, VENV, WHEELS, site_packages
from blocks.builder.real_folders import first_unreal
from blocks.engine import ContainerSpec, Engine, Role
from blocks.errors import PermanentError
from blocks.lake import ObjectStore
from blocks.recipe import Recipe

LAYER_VERSION = 4
_STAMP = "/etc/envmill-before"
"""A file whose time says what was made or changed since; change times cannot be set by hand."""
_BYTECODE = {"PYC_INVALIDATION_MODE": "CHECKED_HASH"}
"""Bytecode that holds its source's hash instead of the time it was unpacked (PEP 552): equal inputs, equal layers."""


class InstallError(PermanentError):
    """Packages that were fetched cannot be installed. The message ends with the log's tail."""


def dependency_reference(recipe: Recipe, runtime_image: str) -> str:
    """Image reference of the layer: keyed by the hash of what is installed and what it stands on."""
    parts = [LAYER_VERSION, runtime_image, sorted(package.sha256 for package in recipe.packages)]
    return f"envmill/deps:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}"


def ensure_dependency_image(
    engine: Engine, store: ObjectStore, recipe: Recipe, runtime_image: str, *, timeout_sec: int
) -> str:
    """The layer's reference; built from the package store, without a network, where the engine does not have it.

    The top folders of the virtual environment belong to the agent user until the environment image is sealed, so that
    the project can be installed by an unprivileged user.

    Installing runs what packages have in `.pth` files, since Python starts to compile them. So it is done as that user, and
    what such code leaves outside the environment is removed: as root it could change what a grader stands on. Where it put
    a link in the place of a folder that the user is to own, there is no layer.

    Raises:
        InstallError: the packages do not install together, or one of them moved the environment's own folders.
    """
    reference = dependency_reference(recipe, runtime_image)
    if engine.image_id(reference):
        return reference
    folders = [VENV, f"{VENV}/bin", site_packages(recipe.runtime)]
    with engine.container(ContainerSpec(image=runtime_image, role=Role.BUILD, deadline_sec=timeout_sec + 60)) as box:

        def step(argv: list[str], user: str) -> None:
            done = box.run(argv, user=user, environment={**_BYTECODE, "HOME": "/tmp/agent"}, timeout_sec=timeout_sec)
            if done.exit_code != 0:
                raise InstallError(f"installing the dependencies failed ({argv[0]} {argv[1]}): {done.output[-2000:]}")

        step(["touch", _STAMP], "root")
        step(["install", "-d", "-o", AGENT_USER, "-g", AGENT_USER, VENV, "/tmp/agent"], "root")
        step(["uv", "venv", "--offline", "--no-python-downloads", "--python", recipe.runtime, VENV], AGENT_USER)
        if recipe.packages:
            box.put_tree(wheelhouse(store, recipe.packages), WHEELS)
            # By name, not by path: an install from a path leaves the path and the time in the metadata.
            wanted = [f"{package.name}=={package.version}" for package in recipe.packages]
            install = ["uv", "pip", "install", "--python", PYTHON, "--offline", "--no-index", "--no-deps", "--no-cache"]
            options = ["--find-links", WHEELS, "--compile-bytecode", "--link-mode", "copy"]
            step([*install, *options, *wanted], AGENT_USER)
        for argv in forget_times(VENV):
            step(argv, AGENT_USER)
        box.run(["sh", "-c", "kill -KILL -1"], user=AGENT_USER, timeout_sec=30)  # The shell is among those it ends.
        step(
            [
                "find",
                "/",
                "-xdev",
                "-user",
                AGENT_USER,
                "-cnewer",
                _STAMP,
                "!",
                "-path",
                f"{VENV}*",
                "!",
                "-type",
                "d",
                "-delete",
            ],
            "root",
        )
        step(["rm", "-rf", WHEELS, "/tmp/agent", "/root/.cache", _STAMP], "root")
        if (moved := first_unreal(box, folders)) is not None:
            raise InstallError(f"a package put something else in the place of the folder {moved}; it is not installed")
        step(["chown", "-R", "-h", "root:root", VENV], "root")
        step(["chown", "-h", AGENT_USER, *folders], "root")
        box.commit(reference, labels={"envmill.kind": "dependencies"})
    return reference
