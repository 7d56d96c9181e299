"""Installing the project itself from the workspace, as the unprivileged user, without a network.

`editable` runs the project's own build backend; where that is from before PEP 660, `develop` runs setup.py; where both
fail, `path` puts the source folders on the path and writes
the metadata that `importlib.metadata` asks for.
"""

from packaging.utils import canonicalize_name

from blocks.builder.installer_times import BUILD_TIME
from blocks.builder.places import AGENT_UID, AGENT_USER, PYTHON, WORKSPACE, in_workspace, site_packages
from blocks.engine import Container, ExecResult
from blocks.recipe import Recipe
from blocks.trees import File, Tree


def place_workspace(box: Container, tree: Tree) -> None:
    """Empty the workspace and put the tree there, owned by the agent user."""
    box.run(["find", WORKSPACE, "-mindepth", "1", "-delete"], timeout_sec=120)
    box.put_tree(tree, WORKSPACE, uid=AGENT_UID, gid=AGENT_UID)


def install_editable(box: Container, recipe: Recipe, *, timeout_sec: int) -> ExecResult:
    """Run the project's build backend for an editable install."""
    return box.run(
        ["uv", "pip", "install", "--python", PYTHON, "--offline", "--no-index", "--no-deps", "--no-cache"]
        + ["--no-build-isolation", "--editable", in_workspace(recipe.folder)],
        user=AGENT_USER,
        workdir=in_workspace(recipe.folder),
        environment=version_environment(recipe),
        timeout_sec=timeout_sec,
    )


def install_develop(box: Container, recipe: Recipe, *, timeout_sec: int) -> ExecResult:
    """Run setup.py's own editable install, which compiles extensions in place: setuptools from before PEP 660."""
    return box.run(
        [PYTHON, "setup.py", "-q", "develop", "--no-deps"],
        user=AGENT_USER,
        workdir=in_workspace(recipe.folder),
        environment=version_environment(recipe),
        timeout_sec=timeout_sec,
    )


def install_path(box: Container, recipe: Recipe) -> None:
    """Put the source folders on the path and leave minimal metadata (PEP 376, Core Metadata 2.1)."""
    roots = [in_workspace(root) for root in recipe.source_roots]
    folder = site_packages(recipe.runtime)
    files = {"envmill_project.pth": "\n".join([*roots, ""])}
    if recipe.project_name:
        version = recipe.project_version or "0.0.0"
        info = f"{canonicalize_name(recipe.project_name).replace('-', '_')}-{version}.dist-info"
        files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {recipe.project_name}\nVersion: {version}\n"
        files[f"{info}/INSTALLER"] = "envmill\n"
        files[f"{info}/RECORD"] = ""
    tree = {path: File(content=text.encode()) for path, text in files.items()}
    box.put_tree(tree, folder, uid=AGENT_UID, gid=AGENT_UID)


def version_environment(recipe: Recipe) -> dict[str, str]:
    """What tools that would ask Git for the version, or the clock for the time, read instead."""
    version = recipe.project_version or "0.0.0"
    names = (
        "SETUPTOOLS_SCM_PRETEND_VERSION",
        "PBR_VERSION",
        "PDM_BUILD_SCM_VERSION",
        "POETRY_DYNAMIC_VERSIONING_BYPASS",
    )
    return {**dict.fromkeys(names, version), **BUILD_TIME, "HOME": "/home/agent", **dict(recipe.environment)}


def source_roots(tree: Tree) -> tuple[str, ...]:
    """Folders that hold importable packages: `src` where it holds any, then the root."""
    has_src = any(path.startswith("src/") and path.endswith(".py") for path in tree)
    return ("src", ".") if has_src else (".",)
