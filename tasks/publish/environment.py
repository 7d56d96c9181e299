"""environment/: a Dockerfile that builds the start state from files beside it, with no package index.

Only Debian's own packages may need the network, and only on a base image that lacks them. What an image that was built
this way holds is what the pipeline's own image holds: the same wheels, the same workspace, the same places.
"""

import re
from collections.abc import Callable, Mapping

from packaging.utils import canonicalize_name

from blocks.builder.foundations import foundation_of
from blocks.builder.places import AGENT_UID, AGENT_USER, PYTHON, VENV, WHEELS, WORKSPACE, site_packages
from blocks.builder.project import version_environment
from blocks.engine.runtime import PYTHON_PACKAGES, PYTHON_RELEASES
from blocks.errors import PermanentError
from blocks.recipe import Package, Recipe
from blocks.templates import render
from blocks.trees import File, Tree, pack

PackageLoader = Callable[[str, str], bytes]
"""Gives the bytes of a distribution by its sha256 and file name."""


def environment_files(recipe: Recipe, start: Tree, package: PackageLoader) -> dict[str, File]:
    """Files of environment/. The workspace travels as a tar, which keeps links, modes and names that packagers mangle.

    Raises:
        PermanentError: the recipe holds a name or value that may not be written into a Dockerfile.
    """
    wheels = (*_wheels(recipe), *([recipe.installer] if recipe.installer else []))
    files = {f"vendor/{item.filename}": File(content=package(item.sha256, item.filename)) for item in wheels}
    if wheels:
        files["vendor/requirements.txt"] = File(content=_requirements(recipe))
    if recipe.install == "path":
        files |= {f"project/{path}": File(content=content) for path, content in path_install_files(recipe).items()}
    files["workspace.tar"] = File(content=pack(start, uid=AGENT_UID, gid=AGENT_UID))
    files["Dockerfile"] = File(content=_dockerfile(recipe))
    return files


def path_install_files(recipe: Recipe) -> dict[str, bytes]:
    """What a `path` install leaves among the installed packages (see blocks/builder/project.py)."""
    roots = [WORKSPACE if root == "." else f"{WORKSPACE}/{root}" for root in recipe.source_roots]
    files = {"envmill_project.pth": ("\n".join(roots) + "\n").encode()}
    if recipe.project_name:
        version = recipe.project_version or "0.0.0"
        folder = f"{canonicalize_name(recipe.project_name).replace('-', '_')}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {recipe.project_name}\nVersion: {version}\n"
        files |= {f"{folder}/METADATA": metadata.encode(), f"{folder}/INSTALLER": b"envmill\n", f"{folder}/RECORD": b""}
    return files


def _wheels(recipe: Recipe) -> tuple[Package, ...]:
    """Debian packages are named in the Dockerfile; the base image or Debian has them."""
    return tuple(item for item in recipe.packages if item.filename.endswith(".whl"))


def _requirements(recipe: Recipe) -> bytes:
    lines = (f"{item.name}=={item.version} --hash=sha256:{item.sha256}" for item in _wheels(recipe))
    return ("\n".join(sorted(lines)) + "\n").encode()


def _dockerfile(recipe: Recipe) -> bytes:
    for name in recipe.system_packages:
        if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name):
            raise PermanentError(f"system package {name[:80]!r} is not a Debian package name; correct the recipe")
    return render(
        "Dockerfile.j2",
        base=f"debian:{PYTHON_RELEASES[recipe.runtime]}-slim",
        debian_packages=sorted({*PYTHON_PACKAGES, *recipe.system_packages}),
        agent=AGENT_USER,
        uid=AGENT_UID,
        venv=VENV,
        python=PYTHON,
        wheels=WHEELS,
        workspace=WORKSPACE,
        site_packages=site_packages(recipe.runtime),
        runtime=recipe.runtime,
        has_packages=bool(_wheels(recipe)),
        installer=recipe.installer.filename if recipe.installer else None,
        editable=recipe.install != "path",
        build_environment=_shell_words(version_environment(recipe)),
        image_changes=foundation_of(_checked(recipe)).image_changes(recipe),
    )


def _shell_words(environment: Mapping[str, str]) -> list[str]:
    for name, value in environment.items():
        _check_variable(name, value)
    return [f"{name}={value}" for name, value in sorted(environment.items())]


def _checked(recipe: Recipe) -> Recipe:
    for name, value in recipe.environment:
        _check_variable(name, value)
    return recipe


def _check_variable(name: str, value: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or not value.isprintable():
        raise PermanentError(f"variable {name[:80]!r} cannot be written into a Dockerfile; correct the recipe")
