"""The dependency layer: one image per set of installed packages, without the project itself, shared by candidates."""

import hashlib
import json

from blocks.builder.installer_times import forget_times
from blocks.builder.packages import wheelhouse
from blocks.builder.places import AGENT_USER, PYTHON, VENV, WHEELS, site_packages
from blocks.engine import ContainerSpec, Engine, Role
from blocks.errors import PermanentError
from blocks.lake import ObjectStore
from blocks.recipe import Recipe

LAYER_VERSION = 2
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

    Raises:
        InstallError: the packages do not install together.
    """
    reference = dependency_reference(recipe, runtime_image)
    if engine.image_id(reference):
        return reference
    folders = [VENV, f"{VENV}/bin", site_packages(recipe.runtime)]
    with engine.container(ContainerSpec(image=runtime_image, role=Role.BUILD, deadline_sec=timeout_sec + 60)) as box:
        steps = [["uv", "venv", "--offline", "--no-python-downloads", "--python", recipe.runtime, VENV]]
        if recipe.packages:
            box.put_tree(wheelhouse(store, recipe.packages), WHEELS)
            # By name, not by path: an install from a path leaves the path and the time in the metadata.
            wanted = [f"{package.name}=={package.version}" for package in recipe.packages]
            steps.append(
                ["uv", "pip", "install", "--python", PYTHON, "--offline", "--no-index", "--no-deps", "--no-cache"]
                + ["--find-links", WHEELS, "--compile-bytecode", "--link-mode", "copy", *wanted]
            )
        steps += [*forget_times(VENV), ["rm", "-rf", WHEELS, "/root/.cache"], ["chown", AGENT_USER, *folders]]
        for argv in steps:
            done = box.run(argv, user="root", environment=_BYTECODE, timeout_sec=timeout_sec)
            if done.exit_code != 0:
                raise InstallError(f"installing the dependencies failed ({argv[0]} {argv[1]}): {done.output[-2000:]}")
        box.commit(reference, labels={"envmill.kind": "dependencies"})
    return reference
