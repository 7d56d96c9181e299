"""Debian packages of a Python recipe: fetched into the package store, the layer below the virtual environment."""

import hashlib
import json
from dataclasses import dataclass

from blocks.builder.debian_packages import ensure_debian_layer, fetch_debian
from blocks.builder.dependencies import InstallError
from blocks.engine.runtime import PYTHON_RELEASES
from blocks.lake import ObjectMissingError
from blocks.recipe import Package, Recipe
from blocks.records import Record
from tasks.archaeology.stack import Bench

FETCH_VERSION = 1


class SystemResolution(Record):
    """What a release gave for a list of names."""

    packages: tuple[Package, ...] = ()
    absent: tuple[str, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class System:
    """The image that holds them; `names` are those that are there, `packages` the files beyond the runtime's own."""

    image: str
    names: tuple[str, ...] = ()
    packages: tuple[Package, ...] = ()
    absent: tuple[str, ...] = ()
    failure: str = ""


def system_layer(bench: Bench, recipe: Recipe, runtime_image: str) -> System:
    """Fetch and install the recipe's Debian packages. Those that do not install leave the runtime image as it is.

    Raises:
        TransientError: the mirror could not be read.
    """
    names = tuple(dict.fromkeys(recipe.system_packages))
    if not names:
        return System(runtime_image)
    key = _key(runtime_image, names)
    try:
        found = SystemResolution.model_validate_json(bench.store.get(key))
    except ObjectMissingError:
        release = PYTHON_RELEASES[recipe.runtime]
        told = fetch_debian(bench.engine, bench.store, bench.settings, runtime_image, release, names)
        found = SystemResolution(packages=told.packages, absent=told.absent, failure=told.failure)
        bench.store.put_if_absent(key, found.model_dump_json().encode())
    if found.failure:
        return System(runtime_image, absent=names, failure=found.failure)
    there = tuple(name for name in names if name not in found.absent)
    layer = recipe.model_copy(update={"packages": found.packages})
    timeout_sec = bench.settings.timeouts.install_sec
    try:
        image = ensure_debian_layer(bench.engine, bench.store, layer, runtime_image, timeout_sec=timeout_sec)
    except InstallError as error:
        return System(runtime_image, absent=names, failure=str(error))
    return System(image, there, found.packages, found.absent)


def _key(runtime_image: str, names: tuple[str, ...]) -> str:
    parts = json.dumps(["debian for python", FETCH_VERSION, runtime_image, sorted(names)])
    return f"resolutions/{hashlib.sha256(parts.encode()).hexdigest()[:32]}.json"
