"""Language runtimes on the base image: interpreter, compilers, the tools that test suites expect, the unprivileged user."""

import hashlib
import json
import logging
import tempfile
from pathlib import Path

from blocks.engine.base import SUITE, ReleaseMissingError, ensure_base, locked
from blocks.engine.container import Container
from blocks.engine.debian import host_apt_options, host_sources
from blocks.engine.engine import Engine
from blocks.engine.outbound import CA_TARGET, fetch_environment
from blocks.engine.spec import SHARED_MEMORY, ContainerSpec, ExecResult, MemoryFile, Network, Role
from blocks.errors import TransientError
from blocks.settings import Settings

AGENT, AGENT_UID, WORKSPACE = "agent", 1000, "/app"
PYTHON_RELEASES = {"3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie"}
"""Python versions, each with the Debian release that has it."""
DEFAULT_PYTHON = "3.11"
"""What is made when the machine is set up; others are made when a candidate first asks."""

PYTHON_PACKAGES = (
    "build-essential",
    "gettext-base",
    "less",
    "pkg-config",
    "procps",
    "python3",
    "python3-dev",
    "python3-pip",
    "python3-venv",
    "tzdata",
)
"""Compilers, because projects are built without network; less, gettext and procps, because suites fail without them."""

_log = logging.getLogger(__name__)

_SOURCES_TARGET = f"{SHARED_MEMORY}/envmill/apt/debian.sources"
_SETUP = (
    ("useradd", "--uid", str(AGENT_UID), "--user-group", "--create-home", "--shell", "/bin/bash", AGENT),
    ("install", "-d", "-o", AGENT, "-g", AGENT, WORKSPACE),
)
_CLEAN = (
    ("apt-get", "clean"),
    ("find", "/var/lib/apt/lists", "/var/log", "/var/cache/ldconfig", "/var/cache/debconf", "-type", "f", "-delete"),
)
_CHANGES = (f"WORKDIR {WORKSPACE}", "ENV LANG=C.UTF-8", "USER root", "ENTRYPOINT []")


def ensure_python_runtime(engine: Engine, settings: Settings, version: str = DEFAULT_PYTHON) -> str | None:
    """Reference of the Python image of this version, made where it is not there yet.

    None where no Debian release has this version, or this machine can get no image of that release.

    It has `python3`, `uv`, compilers, the user `agent` (uid 1000, owns `/app`), and no address or certificate of this
    machine.

    Raises:
        TransientError: apt failed; the message holds the end of its output.
    """
    if version not in PYTHON_RELEASES:
        return None
    suite = PYTHON_RELEASES[version]
    try:
        base = ensure_base(engine, settings, suite)
    except ReleaseMissingError as error:
        _log.warning("python %s: %s", version, error)
        return None
    reference = f"envmill/python:{version}-{_recipe_hash(base)}"
    with locked("python-image"):
        if not engine.image_id(reference):
            _build(engine, settings, base, reference, suite)
    return reference


def install_packages(container: Container, packages: tuple[str, ...], *, timeout_sec: int) -> str:
    """Install Debian packages in a container made by `apt_spec`; returns the end of apt's output.

    Raises:
        TransientError: apt failed: a mirror, or a name that does not exist.
    """
    output = ""
    for command in (("update",), ("install", "--yes", "--no-install-recommends", *packages)):
        output = _run(container, ("apt-get", *_apt_arguments(container.spec), *command), timeout_sec)
    return output


def apt_get(container: Container, *command: str, timeout_sec: int) -> ExecResult:
    """One apt-get command in a container made by `apt_spec`; what it makes of it is the caller's to judge."""
    return container.run(["apt-get", *_apt_arguments(container.spec), *command], timeout_sec=timeout_sec)


def apt_spec(settings: Settings, image: str, folder: Path, *, deadline_sec: int, suite: str = SUITE) -> ContainerSpec:
    """A fetch container that can run apt. `folder` takes the list of mirrors of the release until the container runs."""
    environment, files = fetch_environment(settings)
    sources = host_sources(suite)
    if sources:
        file = folder / "debian.sources"
        file.write_text(sources, encoding="utf-8")
        files = (*files, MemoryFile(source=file, target=_SOURCES_TARGET))
    return ContainerSpec(
        image=image,
        role=Role.FETCH,
        network=Network.FETCH,
        deadline_sec=deadline_sec,
        environment=tuple({**environment, "DEBIAN_FRONTEND": "noninteractive"}.items()),
        memory_files=files,
        installs_packages=True,
    )


def clean_packages(container: Container) -> None:
    """Remove what apt and dpkg leave behind: package lists, archives, logs."""
    for command in _CLEAN:
        _run(container, command, 60)


def _build(engine: Engine, settings: Settings, base: str, reference: str, suite: str) -> None:
    timeout_sec = settings.timeouts.fetch_sec
    with tempfile.TemporaryDirectory(prefix="envmill-apt-") as folder:
        spec = apt_spec(settings, base, Path(folder), deadline_sec=timeout_sec + 300, suite=suite)
        with engine.container(spec) as container:
            install_packages(container, PYTHON_PACKAGES, timeout_sec=timeout_sec)
            for command in _SETUP:
                _run(container, command, 60)
            container.put_file("/usr/local/bin/uv", _uv_binary().read_bytes(), mode=0o755)
            clean_packages(container)
            container.commit(reference, changes=_CHANGES)


def _run(container: Container, argv: tuple[str, ...], timeout_sec: int) -> str:
    result = container.run(argv, timeout_sec=timeout_sec)
    if not result.ok:
        raise TransientError(f"{' '.join(argv[:1])} in {container.spec.image} failed: {result.output[-2000:]}")
    return result.output


def _apt_arguments(spec: ContainerSpec) -> list[str]:
    return [argument for option in _apt_options(spec) for argument in ("-o", option)]


def _apt_options(spec: ContainerSpec) -> list[str]:
    targets = {file.target for file in spec.memory_files}
    options = [*host_apt_options(), "Acquire::Retries=3", "APT::Sandbox::User=root"]
    if _SOURCES_TARGET in targets:
        options += ["Dir::Etc::SourceList=/dev/null", f"Dir::Etc::SourceParts={Path(_SOURCES_TARGET).parent}"]
    if CA_TARGET in targets:
        options.append(f"Acquire::https::CaInfo={CA_TARGET}")
    return options


def _recipe_hash(base: str) -> str:
    """Changes with whatever changes the image: base, packages, steps, the version of uv."""
    recipe = json.dumps([base, PYTHON_PACKAGES, _SETUP, _CLEAN, _CHANGES, _uv_binary().stat().st_size])
    return hashlib.sha256(recipe.encode()).hexdigest()[:12]


def _uv_binary() -> Path:
    from uv import find_uv_bin

    return Path(find_uv_bin())
