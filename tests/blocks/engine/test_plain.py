"""What needs no engine: bounded output, framing, source lists, owners, rules of a spec."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.engine.clip import Clip
from blocks.engine.debian import host_sources
from blocks.engine.outbound import CA_TARGET, fetch_environment
from blocks.engine.reaper import DEADLINE, OWNER, is_left_over
from blocks.engine.spec import ContainerSpec, MemoryFile, Network, Role
from blocks.engine.stream import _frames, as_file
from blocks.errors import UsageError
from blocks.owner import Owner
from blocks.settings import EngineSettings, Settings


@given(st.lists(st.binary(max_size=40)), st.integers(0, 50), st.integers(1, 50), st.booleans())
def test_clip_keeps_both_ends_and_counts_the_rest(chunks: list[bytes], head: int, tail: int, through: bool) -> None:
    whole, sink = b"".join(chunks), io.BytesIO()
    clip = Clip(head, tail, sink if through else None)
    for chunk in chunks:
        clip.feed(chunk)
    kept = clip.finish()
    kept = sink.getvalue() if through else kept
    if len(whole) <= head + tail:
        assert kept == whole
    else:
        cut = len(whole) - head - tail
        assert kept == whole[:head] + f"\n[... {cut} bytes cut here ...]\n".encode() + whole[len(whole) - tail :]


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=300))), st.integers(1, 17))
def test_frames_survive_any_cut(frames: list[tuple[int, bytes]], size: int) -> None:
    wire = b"".join(bytes([kind, 0, 0, 0]) + len(body).to_bytes(4, "big") + body for kind, body in frames)
    pending, got = bytearray(), b""
    for start in range(0, len(wire), size):
        pending += wire[start : start + size]
        got += b"".join(_frames(pending))
    assert got == b"".join(body for _, body in frames)
    assert not pending


def test_chunks_read_as_a_file() -> None:
    chunks = [b"abc", b"", b"defgh", b"i"]
    assert as_file(iter(chunks)).read() == b"abcdefghi"
    reader = as_file(iter(chunks))
    assert [reader.read(2), reader.read(5), reader.read(99)] == [b"ab", b"cdefg", b"hi"]


DEB822 = """\
# a comment
Types: deb deb-src
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
  bookworm-backports
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://security.test/debian-security
Suites: bookworm-security
Components: main

Types: deb
URIs: http://disabled.test/debian
Suites: bookworm
Components: main
Enabled: no
"""

ONE_LINE = """\
deb [signed-by=/etc/keys/vendor.asc] http://vendor.test/repo bookworm main
deb http://vendor.test/other bookworm-tools main
deb [arch=amd64] http://old.test/debian bookworm main contrib # trailing
deb http://vendor.test/docker bookworm stable
"""


def machine(root: Path, codename: str, distribution: str = "debian") -> Path:
    folder = root / "etc/apt/sources.list.d"
    folder.mkdir(parents=True)
    (root / "etc/os-release").write_text(f'ID={distribution}\nVERSION_CODENAME="{codename}"\n')
    (folder / "debian.sources").write_text(DEB822)
    (folder / "vendor.list").write_text(ONE_LINE)
    (folder / "old.list.save").write_text("deb http://saved.test/debian bookworm main\n")
    return root


def test_only_debians_own_archives_are_taken(tmp_path: Path) -> None:
    sources = host_sources("bookworm", machine(tmp_path, "bookworm"))
    assert sources is not None
    pairs = [tuple(line.split(": ")[1] for line in part.splitlines()[1:3]) for part in sources.split("\n\n")]
    assert pairs == [
        ("http://mirror.test/debian", "bookworm"),
        ("http://mirror.test/debian", "bookworm-updates"),
        ("http://security.test/debian-security", "bookworm-security"),
        ("http://old.test/debian", "bookworm"),
    ]


def test_the_mirrors_of_one_release_serve_the_others(tmp_path: Path) -> None:
    own = host_sources("bookworm", machine(tmp_path, "bookworm"))
    other = host_sources("trixie", tmp_path)
    assert own and other == own.replace("bookworm", "trixie")


@pytest.mark.parametrize(("codename", "distribution"), [("trixie", "debian"), ("bookworm", "raspbian")])
def test_a_machine_without_debian_archives_gives_no_sources(tmp_path: Path, codename: str, distribution: str) -> None:
    """The machine says that it runs trixie, and names archives of bookworm only; or it runs no Debian."""
    assert host_sources("bookworm", machine(tmp_path, codename, distribution)) is None
    assert host_sources("bookworm", tmp_path / "nowhere") is None


def test_owner_is_dead_only_where_that_is_certain() -> None:
    here = Owner.current()
    assert not here.is_dead()
    assert here.model_copy(update={"start_ticks": here.start_ticks - 1}).is_dead(), "the number is used again"
    assert not here.model_copy(update={"pid": 2**22 + 1, "host": "elsewhere"}).is_dead()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    ticks = int(Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    owner = here.model_copy(update={"pid": child.pid, "start_ticks": ticks})
    assert not owner.is_dead()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert owner.is_dead(), "killed, not yet waited for"
    child.communicate()
    assert owner.is_dead()


def test_left_over_needs_a_dead_owner_or_a_past_deadline() -> None:
    living = {OWNER: Owner.current().model_dump_json(), DEADLINE: "1000"}
    dead = {OWNER: Owner.current().model_copy(update={"start_ticks": 1}).model_dump_json(), DEADLINE: "1000"}
    assert not is_left_over(living, 999)
    assert not is_left_over(living, 1059), "its process still has time to end it"
    assert is_left_over(living, 1061)
    assert is_left_over(dead, 0)
    for labels in ({}, {OWNER: "", DEADLINE: ""}, {OWNER: "{}", DEADLINE: "1"}, {**dead, DEADLINE: "soon"}):
        assert not is_left_over(labels, 1e12), f"not told by {labels}"


@pytest.mark.parametrize("role", [Role.SUBJECT, Role.GRADER, Role.BUILD])
def test_what_runs_code_gets_no_network_and_no_file_of_the_machine(role: Role, tmp_path: Path) -> None:
    file = MemoryFile(source=tmp_path, target="/dev/shm/x")
    for extra in ({"network": Network.FETCH}, {"memory_files": (file,)}, {"installs_packages": True}):
        with pytest.raises(ValidationError, match="no network"):
            ContainerSpec.model_validate({"image": "i", "role": role, "deadline_sec": 1, **extra})


@pytest.mark.parametrize("target", ["/etc/ssl/ca.pem", "/dev/ca.pem", "/dev/shm/../../etc/ca.pem", "dev/shm/x"])
def test_files_for_memory_stay_in_memory(target: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="land in an image"):
        MemoryFile(source=tmp_path, target=target)


def test_fetch_environment_passes_on_what_a_container_can_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("certificate")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.test/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "file:///srv/simple")
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    environment, files = fetch_environment(Settings(home=tmp_path))
    assert (environment["PIP_INDEX_URL"], environment["https_proxy"]) == (
        "https://index.test/simple",
        "http://proxy.test:3128",
    )
    assert "PIP_EXTRA_INDEX_URL" not in environment, "a folder of this machine is not in the container"
    assert not files
    environment, files = fetch_environment(Settings(home=tmp_path, engine=EngineSettings(ca_bundle=bundle)))
    assert environment["SSL_CERT_FILE"] == environment["PIP_CERT"] == CA_TARGET
    assert [(file.source, file.target) for file in files] == [(bundle, CA_TARGET)]
    with pytest.raises(UsageError, match="CA_BUNDLE"):
        fetch_environment(Settings(home=tmp_path, engine=EngineSettings(ca_bundle=tmp_path / "absent")))
