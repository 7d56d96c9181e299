"""The fetch container of Node.js: managers that would run what they fetch cannot, and code hosts are out of reach."""

import json
from collections.abc import Iterator

import pytest

from blocks.builder.places import AGENT_UID, AGENT_USER
from blocks.engine import Container, ContainerSpec, Engine, Network, Role
from blocks.engine.node_runtime import ensure_node_runtime
from blocks.settings import Settings
from blocks.trees import File
from tasks.archaeology.node.fetch import CODE_HOSTS, _past_proxies, shut_off_code_hosts
from tasks.archaeology.node.managers import Manager
from tasks.archaeology.node.manifests import read_manifests
from tasks.archaeology.node.sources import gather_sources, without_lock

MARK = "touch /tmp/ran-with-a-network"
SCRIPTS = ("preinstall", "install", "postinstall", "prepare", "prepack")
EVIL = {"name": "evil", "version": "1.0.0", "scripts": dict.fromkeys(SCRIPTS, MARK)}


@pytest.fixture
def box(engine: Engine, engine_settings: Settings) -> Iterator[Container]:
    """A fetch container as archaeology starts it, but without a network: what must not run needs none."""
    image = ensure_node_runtime(engine, engine_settings, "22")
    assert image is not None
    spec = ContainerSpec(image=image, role=Role.FETCH, network=Network.NONE, user=AGENT_USER, deadline_sec=300)
    with engine.container(spec) as made:
        yield made


@pytest.mark.engine
def test_npm_builds_what_it_packs_whatever_it_is_told_and_here_it_cannot(box: Container) -> None:
    """A folder goes through the same code of npm (pacote's) as a dependency at a code host: its `prepare` is run."""
    tree = {
        "evil/package.json": EVIL,
        "own/package.json": {"name": "own", "version": "1.0.0", "dependencies": {"evil": "file:../evil"}},
    }
    box.put_tree(
        {path: File(content=json.dumps(text).encode()) for path, text in tree.items()},
        "/tmp/w",
        uid=AGENT_UID,
        gid=AGENT_UID,
    )

    def ran(environment: dict[str, str]) -> bool:
        argv = ["npm", "install", "--ignore-scripts", "--install-links", "--offline", "--no-audit"]
        box.run(["rm", "-rf", "/tmp/ran-with-a-network", "/tmp/w/own/node_modules"], timeout_sec=30)
        box.run(argv, workdir="/tmp/w/own", environment=environment, timeout_sec=120)
        return box.run(["test", "-e", "/tmp/ran-with-a-network"], timeout_sec=30).ok

    assert ran({"HOME": "/tmp/home"}), "npm has come to heed --ignore-scripts here: this test shows nothing any more"
    assert not ran({**Manager("npm", None, None).environment, "HOME": "/tmp/home"})


@pytest.mark.engine
def test_code_hosts_lead_nowhere(box: Container) -> None:
    shut_off_code_hosts(box)
    for host in CODE_HOSTS:
        told = box.run(["getent", "ahosts", host], timeout_sec=30).output
        assert {line.split()[0] for line in told.splitlines()} <= {"0.0.0.0", "::"} and told, (host, told)
    assert not box.run(["sh", "-c", "echo x >> /etc/hosts"], timeout_sec=30).ok, "whoever fetches cannot take it back"
    assert box.run(["id", "-u"], timeout_sec=30).output.strip() == "1000"


def test_no_proxy_looks_them_up_elsewhere() -> None:
    told = _past_proxies({"https_proxy": "http://proxy:1", "NO_PROXY": "intern.example"})
    assert told["no_proxy"] == told["NO_PROXY"]
    assert set(told["NO_PROXY"].split(",")) == {"intern.example", *CODE_HOSTS}


WORKSPACE = """\
packages:
- packages/*
# a comment
catalog:
  react: 18.2.0
configDependencies:
  pnpm-plugin-evil: 1.0.0+sha512-x
"pnpmfile": evil.cjs
useNodeVersion: 18.0.0
scriptShell: /app/evil.sh
registries: {default: https://evil.example}
overrides: {a: 1.0.0}
nodeLinker: hoisted
"""


def test_settings_that_name_code_stay_behind() -> None:
    manifest = {
        "name": "own",
        "dependencies": {"a": "^1.0.0"},
        "scripts": {"install": MARK},
        "pnpm": {"overrides": {"b": "1"}, "configDependencies": {"evil": "1"}, "executionEnv": {"nodeVersion": "1"}},
    }
    files = {
        "package.json": json.dumps(manifest),
        "pnpm-workspace.yaml": WORKSPACE,
        ".pnpmfile.cjs": "process.exit(3)",
        ".npmrc": "script-shell=/app/evil.sh\nregistry=https://evil.example\nnode-linker=hoisted\nignore-scripts=false\n",
        ".yarnrc.yml": "plugins:\n- path: evil.cjs\nyarnPath: evil.cjs\nnmMode: classic\n",
        "pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
    }
    tree = {path: File(content=text.encode()) for path, text in files.items()}
    made = gather_sources(tree, tree, Manager("pnpm", "9.15.9", "pnpm-lock.yaml"), read_manifests(tree)).tree
    assert made["pnpm-workspace.yaml"].content.decode() == (
        "packages:\n- packages/*\n# a comment\ncatalog:\n  react: 18.2.0\noverrides: {a: 1.0.0}\nnodeLinker: hoisted\n"
    )
    kept = json.loads(made["package.json"].content)
    assert kept["pnpm"] == {"overrides": {"b": "1"}} and "scripts" not in kept
    assert made[".npmrc"].content == b"node-linker=hoisted\n"
    assert b"evil" not in b"".join(file.content for file in made.values())
    assert ".pnpmfile.cjs" not in without_lock(made)


FOREIGN = ("github:a/b#0123", "git+https://x.example/a.git", "a/b", "https://x.example/a.tgz", "file:../../up")


@pytest.mark.parametrize("wish", FOREIGN)
def test_what_no_registry_has_is_left_out(wish: str) -> None:
    document = {"name": "own", "dependencies": {"evil": wish, "good": "^1.0.0"}}
    tree = {"package.json": File(content=json.dumps(document).encode())}
    made = gather_sources(tree, tree, Manager("npm", None, None), read_manifests(tree))
    assert json.loads(made.tree["package.json"].content)["dependencies"] == {"good": "^1.0.0"}
    assert made.left_out == (f"evil@{wish}",)
