"""The environment image: dependency layer, start tree, the project installed, then sealed for the agent."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from blocks.builder.foundations import foundation_of
from blocks.builder.installer_times import forget_times
from blocks.builder.places import AGENT_USER, WORKSPACE
from blocks.builder.project import place_workspace
from blocks.engine import ContainerSpec, Engine, Role
from blocks.lake import ObjectStore
from blocks.recipe import Recipe
from blocks.settings import Settings
from blocks.trees import File, Tree, digest

SEAL_VERSION = 4


@dataclass(frozen=True)
class Sealed:
    """A built environment image, or why there is none (`failure`)."""

    reference: str
    below: str
    """The dependency image it stands on."""
    workspace: dict[str, File]
    """What lies in the workspace of the image: the start tree and what the install left there."""
    log: str
    failure: str = ""


def environment_reference(recipe: Recipe, start: Tree, below: str, environment_id: str) -> str:
    """Image reference: keyed by the dependency layer, the start tree and how the project is installed."""
    parts = [SEAL_VERSION, below, digest(start), recipe.install, recipe.project_version, recipe.environment]
    parts += [recipe.folder] if recipe.folder != "." else []
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    return f"envmill/environment:{environment_id}-{key}"


def seal(
    engine: Engine,
    store: ObjectStore,
    settings: Settings,
    recipe: Recipe,
    start: Tree,
    *,
    runtime_image: str,
    environment_id: str,
) -> Sealed:
    """Build the image. The project's own build code runs as the unprivileged user, without a network."""
    timeout_sec = settings.timeouts.install_sec
    foundation = foundation_of(recipe)
    below = foundation.dependency_image(engine, store, settings, recipe, runtime_image)
    reference = environment_reference(recipe, start, below, environment_id)
    log: list[str] = []
    with engine.container(ContainerSpec(image=below, role=Role.BUILD, deadline_sec=timeout_sec + 120)) as box:
        place_workspace(box, start)
        installed = foundation.install(box, recipe, timeout_sec=timeout_sec)
        log.append(installed.output)
        if not installed.ok or installed.recipe != recipe:
            why = installed.symptom or f"the install failed: {installed.output[-1500:]}"
            return Sealed(reference, below, {}, "".join(log), f"archaeology could install it, this could not: {why}")
        # What the build left running ends first, so that nothing changes behind the steps that follow.
        box.run(["sh", "-c", "kill -KILL -1"], user=AGENT_USER, timeout_sec=20)
        for argv in _sealing(foundation.sealed_folders(recipe), foundation.shared_folders(recipe)):
            done = box.run(argv, user="root", timeout_sec=120)
            log.append(done.output)
            if done.exit_code != 0:
                why = f"{argv[0]} ended with {done.exit_code}: {done.output[-500:]}"
                return Sealed(reference, below, {}, "".join(log), why)
        workspace = box.get_tree(WORKSPACE, max_bytes=1 << 30)
        box.commit(
            reference,
            labels={"envmill.kind": "environment", "envmill.environment": environment_id},
            changes=[f"WORKDIR {WORKSPACE}", "USER root", *foundation.image_changes(recipe)],
        )
    return Sealed(reference, below, workspace, "".join(log))


def _sealing(folders: Sequence[str], shared: Sequence[str]) -> tuple[list[str], ...]:
    """Commands, as root: what is installed goes to root, and what the build left elsewhere goes away.

    The `shared` folders are opened again by name: a mode would be the build's to choose.
    """
    agents, anywhere = ("-user", AGENT_USER), ("find", "/", "-xdev")
    return (
        *forget_times(*folders),
        ["find", *folders, "-xdev", *agents, "-exec", "chown", "-h", "root:root", "{}", "+"],
        ["find", *folders, "-xdev", "!", "-type", "l", "-perm", "/022", "-exec", "chmod", "go-w", "{}", "+"],
        ["find", *folders, "-xdev", "-type", "f", "-perm", "/6000", "-exec", "chmod", "ug-s", "{}", "+"],
        *([["chmod", "1777", *shared]] if shared else []),
        ["find", "/tmp", "/var/tmp", "/run/lock", "/home/agent", "-xdev", "-mindepth", "1", "-delete"],
        [*anywhere, *agents, "-type", "f", "-perm", "/6000", "-exec", "chmod", "ug-s", "{}", "+"],
        [*anywhere, *agents, "!", "-type", "f", "!", "-type", "d", "!", "-type", "l", "-delete"],
        [*anywhere, *agents, "!", "-path", f"{WORKSPACE}*", "!", "-path", "/home/agent*", "-delete"],
    )
