"""environment/ of JavaScript and C tasks as text and files; that they build is tried in tests/tasks/archaeology."""

import hashlib

import pytest

from blocks.errors import PermanentError
from blocks.recipe import NativeBuild, NodeBuild, NodeCommand, Package, Recipe
from blocks.trees import File
from tasks.publish.environment import environment_files

START = {"a.c": File(content=b"int a;")}


def package(name: str, filename: str) -> Package:
    return Package(name=name, version="1", filename=filename, sha256=hashlib.sha256(filename.encode()).hexdigest())


def load(sha256: str, filename: str) -> bytes:
    assert hashlib.sha256(filename.encode()).hexdigest() == sha256
    return filename.encode()


def node(**changes: object) -> Recipe:
    build = NodeBuild.model_validate(
        {
            "manager": "pnpm@9",
            "links": ("node_modules", "packages/it's/node_modules"),
            "native": ("node_modules/bcrypt",),
            "commands": (NodeCommand(argv=("npm", "run", "build"), folder="packages/it's"),),
            **changes,
        }
    )
    packages = (package("node_modules", "node_modules.tar.gz"), package("pnpm", "pnpm-9.tgz"))
    return Recipe(stack="node", runtime="22", as_of="x", runner="node", node=build, packages=packages)


RUNTIME = package("node", "node-runtime.tar.gz")


def test_a_javascript_task_brings_everything() -> None:
    files = environment_files(node(), START, load, (RUNTIME,))
    assert {path for path in files if path != "workspace.tar"} == {
        "Dockerfile",
        "vendor/node_modules.tar.gz",
        "vendor/pnpm-9.tgz",
        "vendor/node-runtime.tar.gz",
    }
    text = files["Dockerfile"].content.decode()
    assert "apt-get install" in text and "debs" not in text
    assert "npm install" not in text and "registry" not in text
    assert "ln -s /deps/$link" in text and """'packages/it'"'"'s/node_modules'""" in text
    assert """RUN cd '/app/packages/it'"'"'s' &&""" in text
    assert "bin/pnpm.cjs" in text and "node_modules/bcrypt" in text
    assert "ENV npm_config_nodedir=/usr/local" in text


def test_a_c_task_brings_its_packages_and_the_wrappers() -> None:
    recipe = Recipe(
        stack="cpp",
        runtime="trixie",
        as_of="debian trixie",
        runner="native",
        build=NativeBuild(system="cmake"),
        packages=(package("libgtest-dev", "libgtest-dev_1%3a1.12-1_amd64.deb"),),
        system_packages=("libgtest-dev=1:1.12-1",),
    )
    files = environment_files(recipe, START, load)
    assert set(files) == {
        "Dockerfile",
        "workspace.tar",
        "debs/libgtest-dev_1%3a1.12-1_amd64.deb",
        *(f"compilers/{name}" for name in ("cc", "c++", "gcc", "g++")),
    }
    assert files["compilers/cc"].content.startswith(b"#!/usr/bin/python3 -ISB\n") and files["compilers/cc"].executable
    text = files["Dockerfile"].content.decode()
    assert "ARG BASE=debian:trixie-slim" in text and "/tmp/debs/*.deb" in text and "libgtest" not in text
    assert "ENV PATH=/opt/compilers:" in text


def test_a_python_task_brings_the_debian_packages_that_were_fetched() -> None:
    deb = package("libpq5", "libpq5_15_amd64.deb")
    recipe = Recipe(stack="python", runtime="3.11", as_of="x", packages=(deb,), system_packages=("libpq5", "less"))
    files = environment_files(recipe, START, load)
    assert "debs/libpq5_15_amd64.deb" in files
    text = files["Dockerfile"].content.decode()
    assert "libpq5" not in text and " less " in text


@pytest.mark.parametrize(
    "recipe",
    [
        node(links=("a\nUSER root",)),
        node(native=("a\rb",)),
        node(commands=(NodeCommand(argv=("npm", "run", "a\nRUN evil")),)),
        node(commands=(NodeCommand(argv=("npm",), folder="a\nb"),)),
        Recipe(stack="node", runtime="22", as_of="x", runner="node"),
        Recipe(stack="cobol", runtime="1", as_of="x"),
        Recipe(stack="cpp", runtime="sid", as_of="x"),
    ],
)
def test_what_cannot_be_written_is_refused(recipe: Recipe) -> None:
    with pytest.raises(PermanentError):
        environment_files(recipe, START, load)
