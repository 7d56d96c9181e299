"""Images for real: commit, sizes, layers, builds; and nothing of this machine in what was made with its network."""

import io
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.engine import ContainerSpec, Engine, MemoryFile, Network, Role, ensure_base, ensure_python_runtime
from blocks.engine.debian import host_sources
from blocks.engine.outbound import ca_bundle, fetch_environment
from blocks.engine.raw import inspect_image
from blocks.errors import PermanentError
from blocks.settings import EngineSettings, Settings
from blocks.trees import File, pack

pytestmark = pytest.mark.engine

TRACES = re.compile(r"dev/shm/.|dev/envmill|etc/apt/.*(proxy|mmdebstrap)|var/lib/apt/lists/.*(Release|Packages)")
"""What an image built with this machine's network could keep of it."""


@pytest.fixture
def reference(engine: Engine, request: pytest.FixtureRequest) -> Iterator[str]:
    """A name for an image of this test, which is removed afterwards."""
    name = f"envmill/test:{re.sub('[^a-z0-9]+', '-', request.node.name)}-{engine.owner.pid}"
    yield name
    engine.remove_image(name)


def files_of(engine: Engine, reference: str) -> dict[str, bytes]:
    """Every file of every layer, and every JSON document, by name."""
    found: dict[str, bytes] = {}
    for name, stream in engine.save_layers(reference):
        if name.startswith("json/"):
            found[name] = stream.read()
            continue
        with tarfile.open(fileobj=stream, mode="r|*") as layer:
            for entry in layer:
                reader = layer.extractfile(entry) if entry.isreg() else None
                found[entry.name] = reader.read() if reader else entry.linkname.encode()
    return found


def test_commit_keeps_the_image_and_drops_the_container(engine: Engine, base_image: str, reference: str) -> None:
    spec = ContainerSpec(image=base_image, role=Role.BUILD, deadline_sec=300, environment=(("TOKEN", "hush"),))
    with engine.container(spec) as container:
        container.put_file("/added", b"x" * 100_000)
        assert container.run(["sh", "-c", "rm /etc/debian_version"], timeout_sec=10).ok
        made = container.commit(
            reference, labels={"envmill.kind": "te st"}, changes=["USER daemon", "WORKDIR /srv", 'ENV A="b c"']
        )
    assert engine.image_id(reference) == made
    config, base = inspect_image(engine.api, reference)["Config"], inspect_image(engine.api, base_image)["Config"]
    assert (config["User"], config["WorkingDir"], config["Cmd"]) == ("daemon", "/srv", base["Cmd"])
    assert not config["Entrypoint"]
    assert config["Env"] == [*base["Env"], "A=b c"]
    assert engine.image_labels(reference) == {**engine.image_labels(base_image), "envmill.kind": "te st"}
    assert 100_000 <= engine.unique_bytes(reference, base_image) < 200_000
    assert engine.unique_bytes(reference, base_image) == engine.image_size(reference) - engine.image_size(base_image)
    files = files_of(engine, reference)
    assert files["added"] == b"x" * 100_000
    assert "etc/debian_version" in {name.lstrip("./") for name in files}, "what a later layer deletes is still in one"
    documents = b"".join(body for name, body in files.items() if name.startswith("json/"))
    assert documents
    assert b"hush" not in documents
    with engine.container(ContainerSpec(image=reference, role=Role.SUBJECT, deadline_sec=60)) as subject:
        assert subject.run(["id", "-un"], timeout_sec=10).output == "daemon\n"


def test_unique_bytes_needs_the_image_below(engine: Engine, base_image: str, reference: str) -> None:
    built = engine.build(pack({"Dockerfile": File(content=b"FROM scratch\nCOPY Dockerfile /\n")}), reference)
    assert engine.image_id(reference) == built
    with pytest.raises(PermanentError, match="not built on"):
        engine.unique_bytes(reference, base_image)


def test_a_build_has_no_network_and_says_what_failed(engine: Engine, base_image: str, reference: str) -> None:
    log = io.BytesIO()
    text = f"FROM {base_image}\nARG WHO\nRUN cat /proc/net/dev && echo hello $WHO > /hello\n"
    engine.build(pack({"Dockerfile": File(content=text.encode())}), reference, buildargs={"WHO": "you"}, log=log)
    assert b"lo:" in log.getvalue()
    assert b"eth0" not in log.getvalue()
    assert files_of(engine, reference)["hello"] == b"hello you\n"
    failing = pack({"Dockerfile": File(content=f"FROM {base_image}\nRUN echo because; exit 9\n".encode())})
    with pytest.raises(PermanentError, match=r"(?s)returned a non-zero code: 9.*because"):
        engine.build(failing, reference)


def test_nothing_a_fetch_used_gets_into_an_image(
    engine: Engine, base_image: str, reference: str, tmp_path: Path
) -> None:
    """Also after files were copied into the running container, which makes an engine set up its mount points."""
    settings = Settings(engine=EngineSettings())
    bundle = ca_bundle(settings)
    if bundle is None:
        bundle = tmp_path / "ca.pem"
        bundle.write_text("-----BEGIN CERTIFICATE-----\nof this machine\n-----END CERTIFICATE-----\n")
        settings = Settings(engine=EngineSettings(ca_bundle=bundle))
    environment, files = fetch_environment(settings)
    files = (*files, MemoryFile(source=bundle, target="/dev/shm/deep/er/ca.pem"))
    spec = ContainerSpec(
        image=base_image,
        role=Role.FETCH,
        network=Network.FETCH,
        deadline_sec=300,
        environment=tuple(environment.items()),
        memory_files=files,
    )
    with engine.container(spec) as container:
        seen = container.run(
            ["sh", "-c", 'cat "$SSL_CERT_FILE"; cmp "$SSL_CERT_FILE" /dev/shm/deep/er/ca.pem'], timeout_sec=10
        )
        assert seen.ok
        assert seen.output[:1000] == bundle.read_text()[:1000]
        container.put_file("/fetched", b"a package")
        assert container.get_file("/fetched", max_bytes=100) == b"a package"
        container.commit(reference)
    found = files_of(engine, reference)
    certificate = bundle.read_bytes()
    assert found["fetched"] == b"a package"
    assert not [
        name for name, body in found.items() if certificate in body or "envmill" in name or name.endswith("ca.pem")
    ]
    assert not [name for name, body in found.items() if name.startswith("json/") and b"SSL_CERT" in body]


def test_the_bottom_images_hold_nothing_of_this_machine(
    engine: Engine, engine_settings: Settings, base_image: str, python_image: str
) -> None:
    assert ensure_base(engine, engine_settings) == base_image
    assert ensure_python_runtime(engine, engine_settings) == python_image
    assert ensure_python_runtime(engine, engine_settings, "2.7") is None
    bundle = ca_bundle(engine_settings)
    own = bundle.read_bytes() if bundle else None
    found = files_of(engine, python_image)
    names = {name.removeprefix("./") for name in found}
    assert not {name for name in names if TRACES.search(name)}
    if host_sources("bookworm") and engine.image_labels(base_image).get("envmill.bootstrapped"):
        assert not {name for name in names if re.search(r"^etc/apt/sources\.list(\.d/.|$)", name)}
        assert not found.get("./etc/resolv.conf")
        assert not found.get("./etc/hostname")
    assert not [name for name, body in found.items() if own and own in body], (
        "the machine's certificates are in the image"
    )
    documents = b"".join(body for name, body in found.items() if name.startswith("json/"))
    assert not re.search(rb"SSL_CERT|PIP_|https?_proxy", documents)


def test_the_python_image_has_what_suites_need(engine: Engine, python_image: str) -> None:
    script = """
        set -e
        id -un; pwd; touch /app/x /home/agent/y; python3 -c 'import sys, venv; print(sys.version_info[:2])'
        uv --version | cut -d' ' -f1; for tool in gcc make less envsubst ps pkg-config; do command -v $tool >/dev/null; done
        locale 2>/dev/null | grep ^LANG=; ! command -v git; python3 -m pip --version >/dev/null
        uv venv --offline -q /tmp/v && /tmp/v/bin/python -c 'print("venv")'
        TZ=Europe/Vienna date -d @0 +%Z
    """
    with engine.container(
        ContainerSpec(image=python_image, role=Role.SUBJECT, workdir="/app", deadline_sec=120)
    ) as box:
        result = box.run(["bash", "-c", script], timeout_sec=60)
    assert result.ok, result.output
    assert result.output.split("\n")[:7] == ["agent", "/app", "(3, 11)", "uv", "LANG=C.UTF-8", "venv", "CET"]
