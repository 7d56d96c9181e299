"""Fetch: manifests and locks become one archive of dependencies in the store. The only step here with a network.

The fetch container holds data only; lifecycle scripts, hooks and plugins are off. Managers build what they take from a
code host all the same (npm does; the others are not trusted not to), so code hosts are out of reach there. Ways are
tried in turn: the lock as it is, the lock as a start, version ranges as of the outcome's date (registries' dates are not
always right: where nothing fits, that way fails by itself), version ranges alone.
"""

import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

import blocks.builder.node_collect
from blocks.builder.node_layer import install_manager
from blocks.builder.node_places import DEPENDENCIES, TREE_FILENAME, TREE_PACKAGE
from blocks.builder.packages import keep_package
from blocks.builder.places import AGENT_UID, AGENT_USER, WORKSPACE
from blocks.engine import Container, ContainerSpec, Network, Role, fetch_environment
from blocks.errors import PermanentError, TransientError
from blocks.lake import ObjectMissingError
from blocks.recipe import Package
from blocks.records import ObstacleRow, Phase, Record
from blocks.trees import Tree, digest
from tasks.archaeology.folders import placed
from tasks.archaeology.node.managers import Manager
from tasks.archaeology.node.sources import Sources, without_lock
from tasks.archaeology.stack import Bench

FETCH_VERSION = 3
CODE_HOSTS = (
    "github.com", "www.github.com", "codeload.github.com", "api.github.com", "gist.github.com", "raw.githubusercontent.com",
    "gist.githubusercontent.com", "objects.githubusercontent.com", "gitlab.com", "bitbucket.org", "api.bitbucket.org",
    "git.sr.ht", "codeberg.org",
)  # fmt: skip
"""Where package managers take sources from by a short name or an archive's address, and then build them."""
_MOST_BYTES = 1 << 30
_NETWORK_FAULT = re.compile(
    r"ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|socket hang up|network (timeout|aborted)|ERR_PNPM_META_FETCH_FAIL"
    r"|\b(429|502|503|504)\b [A-Z][a-z]+|ConnectionRefused|FailedToOpenSocket",
)
_ELSEWHERE = re.compile(
    r"(github|gitlab|bitbucket)\.(com|org)|codeload|git ls-remote|(spawn|command) git\b|git\+|ssh://"
)
"""Something was to come from elsewhere than the registry: that is no fault of the network, but never works here."""


class NodeResolution(Record):
    """What the sources resolved to: packages in the store, and what the dependency layer must know of them."""

    packages: tuple[Package, ...]
    links: tuple[str, ...]
    native: tuple[str, ...]
    dropped: tuple[str, ...]
    way: str


@dataclass(frozen=True)
class Way:
    """One way to install."""

    remedy: str
    tree: Tree
    frozen: bool
    before: str | None = None
    dated: bool = False
    """A lock fixes the versions."""


@dataclass(frozen=True)
class NodeFetched:
    """The first way that worked (None: none did), and what stood in the way before."""

    resolution: NodeResolution | None
    obstacles: tuple[ObstacleRow, ...]
    failure: str = ""


def ways_of(sources: Sources, manager: Manager, as_of: str) -> list[Way]:
    """The ways to install, in the order they are tried."""
    bare = without_lock(sources.tree)
    ways: list[Way] = []
    if sources.is_frozen:
        ways.append(Way("the lock as it is", sources.tree, frozen=True, dated=True))
    if manager.lock:
        ways.append(Way("the lock, changed where the manifests ask for it", sources.tree, frozen=False, dated=True))
    if manager.name == "npm":
        ways.append(Way("version ranges as of the outcome", bare, frozen=False, before=as_of))
    ways.append(Way("version ranges alone", bare, frozen=False))
    return ways


def fetch(
    bench: Bench,
    *,
    runtime_image: str,
    node: str,
    manager: Manager,
    ways: Sequence[Way],
    own: Sequence[str],
    folder: str = ".",
) -> NodeFetched:
    """Try the ways in turn; a way that worked once is remembered under a key of everything that it depends on.

    Args:
        bench: engine and store.
        runtime_image: the Node.js image.
        node: its version.
        manager: what installs.
        ways: how, in order.
        own: names of the project's own packages; where no lock fixes the versions, no release of them is kept.
        folder: of the project, relative to the workspace; what comes of it is relative to the workspace.

    Raises:
        TransientError: the registry could not be reached.
    """
    obstacles: list[ObstacleRow] = []
    failure = ""
    legacy_peers = False
    for way in ways:
        for _ in range(2):
            key = _key(way, node, manager, own, legacy_peers, folder)
            found = _known(bench, key)
            if found is None:
                found, failure = _install(bench, runtime_image, manager, way, own, legacy_peers, folder)
                if found is not None:
                    bench.store.put(key, found.model_dump_json().encode())
            if found is not None:
                for row in range(len(obstacles)):
                    obstacles[row] = obstacles[row].model_copy(update={"resolved": True})
                return NodeFetched(found, tuple(obstacles))
            is_peer_conflict = manager.name == "npm" and "ERESOLVE" in failure and not legacy_peers
            remedy = "peer dependencies as older npm took them" if is_peer_conflict else "the next way"
            obstacles.append(_obstacle(bench, len(obstacles) + 1, f"{way.remedy}: {gist(failure)}", remedy))
            if not is_peer_conflict:
                break
            legacy_peers = True
    return NodeFetched(None, tuple(obstacles), failure)


def gist(said: str) -> str:
    """What an install's words come to: its lines about errors, without where logs lie, at most 300 characters."""
    lines = [
        line.strip()
        for line in said.splitlines()
        if line.strip() and not re.search(r"[/\\]_logs|full report|^npm error$", line)
    ]
    errors = [line for line in lines if re.search(r"err(or)?\b|ERR_|conflict|YN0", line, re.I)]
    return " | ".join(errors or lines[-4:])[:300]


def _install(
    bench: Bench,
    runtime_image: str,
    manager: Manager,
    way: Way,
    own: Sequence[str],
    legacy_peers: bool,
    folder: str,
) -> tuple[NodeResolution | None, str]:
    environment, files = fetch_environment(bench.settings)
    timeout_sec = bench.settings.timeouts.fetch_sec
    spec = ContainerSpec(
        image=runtime_image,
        role=Role.FETCH,
        network=Network.FETCH,
        user=AGENT_USER,
        deadline_sec=2 * timeout_sec + 120,
        environment=tuple({**environment, **manager.environment, **_past_proxies(environment)}.items()),
        memory_files=files,
    )
    with bench.engine.container(spec) as box:
        shut_off_code_hosts(box)
        tree = {placed(path, folder): file for path, file in way.tree.items()}
        box.put_tree(tree, DEPENDENCIES, uid=AGENT_UID, gid=AGENT_UID)
        packages = [_manager_package(bench, box, manager)] if manager.package else []
        argv = manager.argv(frozen=way.frozen, legacy_peers=legacy_peers, before=way.before)
        done = box.run(argv, workdir=placed(folder, DEPENDENCIES), timeout_sec=timeout_sec)
        if not done.ok:
            is_registry = not _ELSEWHERE.search(done.output)
            if is_registry and (done.timed_out or _NETWORK_FAULT.search(done.output)):
                raise TransientError(f"fetching packages: the registry cannot be reached: {done.output[-300:]}")
            return None, done.output[-8000:].strip() or f"{argv[0]} ended with {done.exit_code}"
        collected, failure = _collect(box, own, way, timeout_sec)
        if collected is None:
            return None, failure
        content = box.get_file(f"/tmp/{TREE_FILENAME}", max_bytes=_MOST_BYTES)
    if content is None:
        return None, "the install left nothing"
    version = hashlib.sha256(content).hexdigest()[:12]
    packages.append(keep_package(bench.store, TREE_PACKAGE, version, TREE_FILENAME, content))
    return collected.model_copy(update={"packages": tuple(packages), "way": way.remedy}), ""


def shut_off_code_hosts(box: Container) -> None:
    """Let the names of code hosts lead nowhere in this container.

    What a manager takes from one it also builds, whatever it is told of scripts: with a network, as this container has.
    There is no git in it either. So a dependency from there fails, and the obstacle names it.

    Raises:
        PermanentError: they are still reachable.
    """
    script = 'for host; do printf "0.0.0.0 %s\\n:: %s\\n" "$host" "$host"; done >> /etc/hosts && ! command -v git'
    done = box.run(["sh", "-c", script, "sh", *CODE_HOSTS], user="root", timeout_sec=30)
    if not done.ok:
        raise PermanentError(f"a fetch container cannot be kept from code hosts: {done.output[-300:]}")


def _past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """A proxy would look the names up elsewhere: code hosts are asked for directly, where they lead nowhere."""
    told = [environment[name] for name in ("no_proxy", "NO_PROXY") if environment.get(name)]
    return dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join([*told[:1], *CODE_HOSTS]))


def _collect(box: Container, own: Sequence[str], way: Way, timeout_sec: int) -> tuple[NodeResolution | None, str]:
    script = Path(blocks.builder.node_collect.__file__).read_bytes()
    box.put_file("/tmp/collect.py", script)
    orders = {
        "root": DEPENDENCIES,
        "workspace": WORKSPACE,
        "archive": f"/tmp/{TREE_FILENAME}",
        "own": list(own),
        "dated": way.dated,
    }
    done = box.run(["/usr/bin/python3", "-I", "-S", "/tmp/collect.py", json.dumps(orders)], timeout_sec=timeout_sec)
    if not done.ok:
        return None, f"collecting what was installed failed: {done.output[-1500:]}"
    facts = TypeAdapter(dict[str, object]).validate_json(done.output.strip().splitlines()[-1])
    texts = TypeAdapter(tuple[str, ...])
    parts = {name: texts.validate_python(tuple(facts[name])) for name in ("links", "native", "dropped")}  # type: ignore[arg-type]
    return NodeResolution(packages=(), way="", **parts), ""


def _manager_package(bench: Bench, box: Container, manager: Manager) -> Package:
    """Fetch the manager through npm, make it runnable in this container, keep it."""
    cpu = {"x86_64": "x64", "aarch64": "aarch64"}.get(platform.machine(), platform.machine())
    name = (manager.package or "").format(cpu=cpu)
    done = box.run(
        ["npm", "pack", "--silent", "--pack-destination", "/tmp", f"{name}@{manager.version}"],
        workdir="/tmp",
        timeout_sec=bench.settings.timeouts.fetch_sec,
    )
    filename = done.output.strip().splitlines()[-1] if done.ok and done.output.strip() else ""
    content = box.get_file(f"/tmp/{filename}", max_bytes=_MOST_BYTES) if filename.endswith(".tgz") else None
    if content is None:
        if done.timed_out or _NETWORK_FAULT.search(done.output):
            raise TransientError(f"fetching {manager.label}: the registry cannot be reached: {done.output[-300:]}")
        raise PermanentError(f"{manager.label} is not on the registry: {done.output[-500:]}")
    package = keep_package(bench.store, manager.name, manager.version or "", filename, content)
    install_manager(box, manager.name, content)
    return package


def _key(way: Way, node: str, manager: Manager, own: Sequence[str], legacy_peers: bool, folder: str) -> str:
    argv = manager.argv(frozen=way.frozen, legacy_peers=legacy_peers, before=way.before)
    parts = [FETCH_VERSION, node, platform.machine(), manager.label, argv, digest(way.tree), sorted(own), way.dated]
    parts += [folder] if folder != "." else []
    return f"resolutions/{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}.json"


def _known(bench: Bench, key: str) -> NodeResolution | None:
    try:
        return NodeResolution.model_validate_json(bench.store.get(key))
    except ObjectMissingError:
        return None


def _obstacle(bench: Bench, attempt: int, symptom: str, remedy: str) -> ObstacleRow:
    return ObstacleRow(
        candidate_id=bench.candidate_id,
        phase=Phase.ARCHAEOLOGY,
        attempt=attempt,
        symptom=symptom,
        remedy=remedy,
        resolved=False,
    )
