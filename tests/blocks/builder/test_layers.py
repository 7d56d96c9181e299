"""Dependency layers of packages that move the folders which they are installed to."""

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from blocks.builder.dependencies import InstallError, dependency_reference, ensure_dependency_image
from blocks.builder.node_layer import ensure_node_layer
from blocks.builder.packages import keep_package
from blocks.engine import ContainerSpec, Engine, Role
from blocks.lake import open_store
from blocks.recipe import NodeBuild, Recipe
from blocks.settings import Settings

pytestmark = pytest.mark.engine
SYSTEM = "/usr/lib/python3/dist-packages"
SITE = "/opt/venv/lib/python3.11/site-packages"
SWAP = """
import os
if not os.path.islink({0!r}):
    os.rename({0!r}, "/opt/venv/moved")
    os.symlink({1!r}, {0!r})
"""


def wheel(code: str) -> bytes:
    """A package whose code runs whenever Python starts."""
    info = "pot-1.0.dist-info"
    files = {
        "pot.pth": "import pot\n",
        "pot.py": code,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: pot\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2025, 1, 1, 0, 0, 0)), text)
    return buffer.getvalue()


@pytest.mark.parametrize(("place", "target"), [(SITE, SYSTEM), ("/opt/venv/lib", "/opt/venv/moved")])
def test_a_package_that_puts_a_link_in_the_place_of_a_folder(
    engine: Engine, python_image: str, tmp_path: Path, place: str, target: str
) -> None:
    """Root would give the agent what the link leads to."""
    store = open_store(Settings(home=tmp_path))
    package = keep_package(store, "pot", "1.0", "pot-1.0-py3-none-any.whl", wheel(SWAP.format(place, target)))
    recipe = Recipe(stack="python", runtime="3.11", as_of="2025-01-01T00:00:00Z", packages=(package,))
    with pytest.raises(InstallError, match=f"something else in the place of the folder {SITE}"):
        ensure_dependency_image(engine, store, recipe, python_image, timeout_sec=60)
    assert engine.image_id(dependency_reference(recipe, python_image)) is None


def test_a_compiled_package_that_moves_the_next_one(engine: Engine, python_image: str, tmp_path: Path) -> None:
    """The first becomes the agent's with all that lies in it, also the folder of the second."""
    store = open_store(Settings(home=tmp_path))
    outer, inner = "node_modules/a", "node_modules/a/node_modules/share"
    swap = "mv node_modules moved && ln -s /usr node_modules"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in (
            (f"{outer}/package.json", json.dumps({"name": "a", "version": "1.0.0", "scripts": {"install": swap}})),
            (f"{inner}/package.json", json.dumps({"name": "share", "version": "1.0.0"})),
        ):
            entry = tarfile.TarInfo(path)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    package = keep_package(store, "node_modules", "1", "node_modules.tar.gz", buffer.getvalue())
    build = NodeBuild(manager="npm", links=("node_modules",), native=(outer, inner))
    recipe = Recipe(stack="node", runtime="20", as_of="2025-01-01T00:00:00Z", packages=(package,), node=build)
    # An image without npm: a command of that name does what npm does with the script.
    with engine.container(ContainerSpec(image=python_image, role=Role.BUILD, deadline_sec=60)) as box:
        box.put_file("/usr/local/bin/npm", f"#!/bin/sh\n{swap}\n".encode())
        box.run(["chmod", "755", "/usr/local/bin/npm"], timeout_sec=30)
        box.commit("envmill/test:moves", labels={})
    made = ["envmill/test:moves"]
    try:
        made.insert(0, ensure_node_layer(engine, store, recipe, made[0], timeout_sec=60))
        with engine.container(ContainerSpec(image=made[0], role=Role.BUILD, deadline_sec=60)) as box:
            assert box.run(["stat", "-c", "%U", "/usr/share"], timeout_sec=30).output == "root\n"
            assert box.run(["readlink", f"/deps/{outer}/node_modules"], timeout_sec=30).output == "/usr\n"
            log = box.run(["cat", "/deps/native.log"], timeout_sec=30).output
            assert f"{inner}: not compiled" in log and f"{outer}: ended with 0" in log
    finally:
        for image in made:
            engine.remove_image(image)
