"""environment/: a Dockerfile that builds the start state from files beside it, with no package index.

Only the runtime's own Debian packages may need the network, and only on a base image that lacks them. What an image
that was built this way holds is what the pipeline's own image holds: the same packages, the same workspace, the same
places.
"""

from collections.abc import Callable, Sequence

from packaging.utils import canonicalize_name

from blocks.builder.cpp_runtime import COMPILERS, PYTHON_OF, compiler_wrappers
from blocks.builder.cpp_runtime import PACKAGES as CPP_PACKAGES
from blocks.builder.places import AGENT_UID, PYTHON, VENV, WHEELS, in_workspace, site_packages
from blocks.builder.project import version_environment
from blocks.engine.runtime import PYTHON_PACKAGES, PYTHON_RELEASES
from blocks.errors import PermanentError
from blocks.recipe import Package, Recipe
from blocks.trees import File, Tree, pack
from tasks.publish.dockerfile import DEBS, debs_of, dockerfile, words
from tasks.publish.environment_node import node_dockerfile, vendored

PackageLoader = Callable[[str, str], bytes]
"""Gives the bytes of a distribution by its sha256 and file name."""


def environment_files(
    recipe: Recipe, start: Tree, package: PackageLoader, runtime: Sequence[Package] = ()
) -> dict[str, File]:
    """Files of environment/. The workspace travels as a tar, which keeps links, modes and names that packagers mangle.

    Args:
        recipe: what is built.
        start: the workspace.
        package: gives the bytes of what is vendored.
        runtime: what the stack's runtime is made from, where Debian does not have it.

    Raises:
        PermanentError: the recipe holds a name or value that may not be written into a Dockerfile, or its stack is none.
    """
    files = _STACKS[recipe.stack](recipe, package, runtime) if recipe.stack in _STACKS else None
    if files is None:
        raise PermanentError(f"stack {recipe.stack!r} cannot be published; this version knows {', '.join(_STACKS)}")
    for item in debs_of(recipe):
        files[DEBS + item.filename] = File(content=package(item.sha256, item.filename))
    files["workspace.tar"] = File(content=pack(start, uid=AGENT_UID, gid=AGENT_UID))
    return files


def _python(recipe: Recipe, package: PackageLoader, runtime: Sequence[Package]) -> dict[str, File]:
    del runtime
    wheels = (*_wheels(recipe), *([recipe.installer] if recipe.installer else []))
    files = {f"vendor/{item.filename}": File(content=package(item.sha256, item.filename)) for item in wheels}
    if wheels:
        files["vendor/requirements.txt"] = File(content=_requirements(recipe))
    if recipe.install == "path":
        files |= {f"project/{path}": File(content=content) for path, content in path_install_files(recipe).items()}
    vendored_debs = {item.name for item in debs_of(recipe)}
    files["Dockerfile"] = dockerfile(
        "Dockerfile-python.j2",
        recipe,
        release=PYTHON_RELEASES[recipe.runtime],
        debian_packages={*PYTHON_PACKAGES, *(set(recipe.system_packages) - vendored_debs)},
        venv=VENV,
        python=PYTHON,
        wheels=WHEELS,
        site_packages=site_packages(recipe.runtime),
        runtime=recipe.runtime,
        has_packages=bool(_wheels(recipe)),
        installer=recipe.installer.filename if recipe.installer else None,
        editable=recipe.install != "path",
        project=in_workspace(recipe.folder),
        build_environment=words(version_environment(recipe)),
    )
    return files


def _cpp(recipe: Recipe, package: PackageLoader, runtime: Sequence[Package]) -> dict[str, File]:
    del package, runtime
    files = {
        f"compilers/{name}": File(content=content, executable=True) for name, content in compiler_wrappers().items()
    }
    if recipe.runtime not in PYTHON_OF:
        raise PermanentError(f"Debian release {recipe.runtime!r} is not one of {', '.join(PYTHON_OF)}")
    files["Dockerfile"] = dockerfile(
        "Dockerfile-cpp.j2",
        recipe,
        release=recipe.runtime,
        debian_packages={*PYTHON_PACKAGES, *CPP_PACKAGES},
        compilers=COMPILERS,
    )
    return files


def _node(recipe: Recipe, package: PackageLoader, runtime: Sequence[Package]) -> dict[str, File]:
    files = {
        f"vendor/{item.filename}": File(content=package(item.sha256, item.filename))
        for item in vendored(recipe, runtime)
    }
    files["Dockerfile"] = node_dockerfile(recipe)
    return files


_STACKS: dict[str, Callable[[Recipe, PackageLoader, Sequence[Package]], dict[str, File]]] = {
    "python": _python,
    "cpp": _cpp,
    "node": _node,
}
"""By the recipe's stack: all of environment/ but the workspace and Debian's packages."""


def path_install_files(recipe: Recipe) -> dict[str, bytes]:
    """What a `path` install leaves among the installed packages (see blocks/builder/project.py)."""
    roots = [in_workspace(root) for root in recipe.source_roots]
    files = {"envmill_project.pth": ("\n".join(roots) + "\n").encode()}
    if recipe.project_name:
        version = recipe.project_version or "0.0.0"
        folder = f"{canonicalize_name(recipe.project_name).replace('-', '_')}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {recipe.project_name}\nVersion: {version}\n"
        files |= {f"{folder}/METADATA": metadata.encode(), f"{folder}/INSTALLER": b"envmill\n", f"{folder}/RECORD": b""}
    return files


def _wheels(recipe: Recipe) -> tuple[Package, ...]:
    return tuple(item for item in recipe.packages if item.filename.endswith(".whl"))


def _requirements(recipe: Recipe) -> bytes:
    lines = (f"{item.name}=={item.version} --hash=sha256:{item.sha256}" for item in _wheels(recipe))
    return ("\n".join(sorted(lines)) + "\n").encode()
