"""Debian packages as dependencies: fetched once into the package store, installed from it without a network.

Debian keeps no dates: what is fetched is what the release holds on the day of the fetch (a stable release changes by
security and point updates only). The store keeps the files, so that a rebuild has the same.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from blocks.builder.dependencies import InstallError
from blocks.builder.packages import keep_package, wheelhouse
from blocks.engine import Container, ContainerSpec, Engine, Role, apt_get, apt_spec, clean_packages
from blocks.errors import TransientError
from blocks.lake import ObjectStore
from blocks.recipe import Package, Recipe
from blocks.settings import Settings

LAYER_VERSION = 1
MAX_BYTES = 2 << 30
_FOLDER = "/tmp/packages"
_ABSENT = re.compile(
    r"^E: (?:Unable to locate package (\S+)|Package '([^']+)' has no installation candidate"
    r"|Couldn't find any package by (?:glob|regex) '([^']+)')",
    re.M,
)


@dataclass(frozen=True)
class Fetched:
    """What a release gave for a list of names. `absent`: names it does not have; `failure`: why nothing can be installed."""

    packages: tuple[Package, ...] = ()
    absent: tuple[str, ...] = ()
    failure: str = ""


def fetch_debian(
    engine: Engine, store: ObjectStore, settings: Settings, image: str, release: str, names: Sequence[str]
) -> Fetched:
    """Download what the names need beyond the image, with apt, and keep it.

    Raises:
        TransientError: the mirror could not be read.
    """
    timeout_sec = settings.timeouts.fetch_sec
    with tempfile.TemporaryDirectory(prefix="envmill-apt-") as folder:
        spec = apt_spec(settings, image, Path(folder), deadline_sec=2 * timeout_sec + 120, suite=release)
        with engine.container(spec) as box:
            told = apt_get(box, "update", timeout_sec=timeout_sec)
            if not told.ok:
                raise TransientError(f"apt-get update for {release}: {told.output[-1000:]}")
            wanted, absent, failure = _known(box, names, timeout_sec)
            if failure or not wanted:
                return Fetched((), absent, failure)
            box.run(["mkdir", "-p", f"{_FOLDER}/partial"], timeout_sec=30)
            into = ["-o", f"Dir::Cache::Archives={_FOLDER}"]
            told = apt_get(box, *into, *_install("--download-only"), *wanted, timeout_sec=timeout_sec)
            if not told.ok:
                raise TransientError(f"downloading packages of {release}: {told.output[-1000:]}")
            files = box.get_tree(_FOLDER, max_bytes=MAX_BYTES)
    packages = []
    for filename, file in sorted(files.items()):
        if filename.endswith(".deb"):
            name, version, _ = filename.split("_", 2)
            packages.append(keep_package(store, name, unquote(version), filename, file.content))
    return Fetched(tuple(packages), absent)


def _known(box: Container, names: Sequence[str], timeout_sec: int) -> tuple[list[str], tuple[str, ...], str]:
    """The names that the release has, those it does not have, and why they do not go together (empty: they do)."""
    wanted, absent = list(dict.fromkeys(names)), list[str]()
    while wanted:
        told = apt_get(box, *_install("--simulate"), *wanted, timeout_sec=timeout_sec)
        if told.ok:
            break
        missing = {name for match in _ABSENT.findall(told.output) for name in match if name} & set(wanted)
        if not missing:
            return [], tuple(absent), told.output[-1500:]
        absent += [name for name in wanted if name in missing]
        wanted = [name for name in wanted if name not in missing]
    return wanted, tuple(absent), ""


def _install(*options: str) -> list[str]:
    return ["install", "--yes", "--no-install-recommends", *options]


def debian_reference(recipe: Recipe, runtime_image: str) -> str:
    """Image reference of the layer: keyed by what is installed and what it stands on."""
    parts = [LAYER_VERSION, runtime_image, sorted(package.sha256 for package in recipe.packages)]
    return f"envmill/deps:native-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}"


def ensure_debian_layer(
    engine: Engine, store: ObjectStore, recipe: Recipe, runtime_image: str, *, timeout_sec: int
) -> str:
    """The layer's reference; installed from the package store, without a network, where the engine does not have it.

    Raises:
        InstallError: the packages do not install together.
    """
    if not recipe.packages:
        return runtime_image
    reference = debian_reference(recipe, runtime_image)
    if engine.image_id(reference):
        return reference
    with engine.container(ContainerSpec(image=runtime_image, role=Role.BUILD, deadline_sec=timeout_sec + 60)) as box:
        box.put_tree(wheelhouse(store, recipe.packages), _FOLDER)
        files = [f"{_FOLDER}/{package.filename}" for package in recipe.packages]
        done = box.run(
            ["apt-get", "-o", "APT::Sandbox::User=root", *_install("--allow-downgrades"), *files],
            environment={"DEBIAN_FRONTEND": "noninteractive"},
            timeout_sec=timeout_sec,
        )
        if not done.ok:
            raise InstallError(f"installing {len(files)} Debian packages failed: {done.output[-2000:]}")
        box.run(["rm", "-rf", _FOLDER], timeout_sec=60)
        clean_packages(box)
        box.commit(reference, labels={"envmill.kind": "dependencies"})
    return reference
