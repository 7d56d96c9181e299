"""The image at the bottom: the configured one if the engine has or can pull it, else Debian bootstrapped from packages.

The bootstrap is meant to equal `debian:bookworm-slim`: Debian's essential packages and apt, without documentation. It
holds no address, name, proxy or certificate of this machine; the label `envmill.bootstrapped` says where it is from.
"""

import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docker import APIClient
from docker.errors import DockerException
from docker.utils import parse_repository_tag
from requests.exceptions import RequestException

from blocks.engine.debian import KEYRING, host_apt_options, host_sources
from blocks.engine.engine import Engine
from blocks.engine.faults import engine_faults
from blocks.errors import PermanentError, ServiceMissingError, TransientError
from blocks.settings import EngineSettings, Settings

SUITE = "bookworm"
"""The Debian release that everything stands on unless a runtime asks for another."""
PULL_SILENCE_SEC = 20
"""A pull that says nothing for so long has failed: offline, some engines never answer."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SLIM = ("doc", "groff", "info", "linda", "lintian", "locale", "man")
_CLEAN = (
    'rm -f "$1/etc/resolv.conf" "$1/etc/hostname" "$1/etc/apt/apt.conf.d/99mmdebstrap"',
    'rm -rf "$1/var/log/apt" "$1/var/log/dpkg.log" "$1/var/log/alternatives.log" "$1/var/log/bootstrap.log"',
)
_NO_SOURCES = 'rm -f "$1/etc/apt/sources.list" "$1"/etc/apt/sources.list.d/*'
_KEPT = "path-include=/usr/share/doc/*/copyright\npath-include=/usr/share/locale/locale.alias\n"
_NOT_SERVED = re.compile(r"does not have a Release file|404 +Not Found", re.I)

_log = logging.getLogger(__name__)


class ReleaseMissingError(PermanentError):
    """This machine's mirrors do not carry a Debian release, and no image of it is to be had."""


def bootstrapped(suite: str = SUITE) -> str:
    """Reference of the bootstrapped image of a release; changes with what it is made from."""
    recipe = json.dumps([suite, PATH, _SLIM, _CLEAN, _NO_SOURCES, _KEPT])
    return f"envmill/base:{suite}-{hashlib.sha256(recipe.encode()).hexdigest()[:8]}"


def base_name(settings: Settings, suite: str) -> str:
    """The configured image, of another release where one is asked for.

    Raises:
        ReleaseMissingError: the configured name names no release that could be exchanged.
    """
    configured = settings.engine.base_image
    if suite != SUITE and SUITE not in configured:
        raise ReleaseMissingError(f"base image {configured} names no release: there is no {suite} beside it")
    return configured.replace(SUITE, suite)


def ensure_base(engine: Engine, settings: Settings, suite: str = SUITE) -> str:
    """Reference of the base image of a release, made where it is not there yet.

    Raises:
        ServiceMissingError: it can neither be pulled nor bootstrapped; says what to install.
        ReleaseMissingError: nobody has this release any more.
        TransientError: the bootstrap failed.
    """
    wanted = base_name(settings, suite)
    stands_in = settings.engine.base_image == EngineSettings().base_image
    with locked("base-image"):
        if engine.image_id(wanted):
            return wanted
        if stands_in and engine.image_id(bootstrapped(suite)):
            return bootstrapped(suite)
        if _pull(engine.api, wanted):
            return wanted
        if not stands_in:
            raise ServiceMissingError(f"base image {wanted} is not in the engine and cannot be pulled; load it by hand")
        if not shutil.which("mmdebstrap"):
            raise ServiceMissingError(
                f"base image {wanted} is not in the engine and cannot be pulled, and mmdebstrap, which makes one from "
                "Debian packages, is not installed: `apt-get install mmdebstrap`, or load the image by hand"
            )
        _bootstrap(engine.api, suite)
        return bootstrapped(suite)


@contextmanager
def locked(name: str) -> Iterator[None]:
    """One process of this user on this machine at a time: the engine is shared, whatever `home` each works in."""
    path = Path(tempfile.gettempdir()) / f"envmill-{os.getuid()}-{name}.lock"
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _pull(api: APIClient, reference: str) -> bool:
    repository, tag = parse_repository_tag(reference)
    usual, api.timeout = api.timeout, PULL_SILENCE_SEC
    try:
        for line in api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            if "error" in line:
                return False
    except (DockerException, RequestException) as error:
        _log.info("%s cannot be pulled: %s", reference, error)
        return False
    finally:
        api.timeout = usual
    return True


def _bootstrap(api: APIClient, suite: str) -> None:
    with tempfile.TemporaryDirectory(prefix="envmill-base-") as folder:
        archive = Path(folder) / "base.tar"
        command = [*_command(Path(folder), suite), suite, str(archive), *_mirror(Path(folder), suite)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=900)
        if done.returncode and _NOT_SERVED.search(done.stderr):
            raise ReleaseMissingError(f"the mirrors of this machine do not carry {suite}: {done.stderr[-500:]}")
        if done.returncode:
            raise TransientError(f"mmdebstrap ended with {done.returncode}: {done.stderr[-2000:]}")
        repository, tag = parse_repository_tag(bootstrapped(suite))
        with engine_faults("importing the base image"):
            api.import_image_from_file(
                str(archive),
                repository=repository,
                tag=tag,
                changes=["LABEL envmill.bootstrapped=true", f"ENV PATH={PATH}", 'CMD ["bash"]'],
            )


def _command(folder: Path, suite: str) -> list[str]:
    slim = folder / "slim"
    slim.write_text("".join(f"path-exclude=/usr/share/{name}/*\n" for name in _SLIM) + _KEPT, encoding="utf-8")
    hooks = [
        *_CLEAN,
        *([_NO_SOURCES] if host_sources(suite) else []),
    ]
    return [
        "mmdebstrap",
        "--variant=minbase",
        f"--dpkgopt={slim}",
        *(f"--keyring={KEYRING}" for _ in range(Path(KEYRING).exists())),
        *(f"--aptopt={option.replace('=', ' ', 1)}" for option in _quoted(host_apt_options())),
        *(f"--customize-hook={hook}" for hook in hooks),
    ]


def _quoted(options: tuple[str, ...]) -> list[str]:
    return [f'{name}="{value}"' for name, _, value in (option.partition("=") for option in options)]


def _mirror(folder: Path, suite: str) -> list[str]:
    """The machine's own mirrors where it runs Debian; else mmdebstrap's, which stay in the image as usual."""
    sources = host_sources(suite)
    if sources is None:
        return []
    file = folder / "debian.sources"
    file.write_text(sources, encoding="utf-8")
    return [str(file)]
