"""A container engine of a test's own, to be killed or starved: a second dockerd with its own folders, socket and containerd.

It lives in a network namespace of its own: in the machine's, a dockerd without a bridge takes docker0 away from the engine
everybody uses. So nothing in it reaches the outside; what a build needs must lie in the lake.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from docker import APIClient
from docker.errors import DockerException
from requests.exceptions import RequestException

from blocks.engine import Engine, Owner
from blocks.owner import start_ticks
from blocks.settings import EngineSettings

_START_SEC = 60


@dataclass
class Dockerd:
    """One engine. `data` holds its images, `run` what it needs while it runs; neither may be moved."""

    data: Path
    run: Path
    process: "subprocess.Popen[bytes] | None" = field(default=None)

    @property
    def host(self) -> str:
        return f"unix://{self.run}/docker.sock"

    def engine(self) -> Engine:
        return Engine.connect(EngineSettings(host=self.host), Owner.current())

    def start(self) -> None:
        """Start it and wait until it answers; also after `kill`, on what was left."""
        self.run.mkdir(parents=True, exist_ok=True)
        for left in (self.run / "docker.pid", self.run / "exec" / "containerd" / "containerd.pid"):
            # A zombie's number stands in the way of the next one too.
            if left.exists() and start_ticks(int(left.read_text())) is None:
                left.unlink()
        with (self.run / "dockerd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    "unshare", "--net", "dockerd", "--host", self.host, f"--data-root={self.data}",
                    f"--exec-root={self.run}/exec", f"--pidfile={self.run}/docker.pid",
                    "--bridge=none", "--iptables=false", "--ip6tables=false",
                    f"--cgroup-parent=/envmill-test-{os.getpid()}",
                ],
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + _START_SEC
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < deadline, self.log()
            time.sleep(0.1)

    def answers(self) -> bool:
        try:
            APIClient(base_url=self.host, version="auto", timeout=5).ping()
        except (DockerException, RequestException):
            return False
        return True

    def kill(self) -> None:
        """End the daemon alone by SIGKILL: its containerd and the containers are left as they are."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """End everything of it, and wait until it is gone."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            self.process.kill()
            self.process.wait()
        for _ in range(50):
            left = self.processes()
            if not left:
                break
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
        for mount in reversed(mounts_below(self.data, self.run)):
            subprocess.run(["umount", "-l", mount], check=False, capture_output=True)

    def processes(self) -> list[int]:
        """Its containerd, and the shims of its containers: they name its folder."""
        wanted = f"{self.run}/".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    argv = (entry / "cmdline").read_bytes().split(b"\0")
                    if Path(os.fsdecode(argv[0])).name.startswith(("containerd", "dockerd")) and any(
                        wanted in part for part in argv
                    ):
                        found.append(int(entry.name))
        return found

    def log(self) -> str:
        return (self.run / "dockerd.log").read_text(errors="replace")[-3000:]


def mounts_below(*folders: Path) -> list[str]:
    """Mount points below the folders, outer ones first."""
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [point for point in points if any(Path(point).is_relative_to(folder) for folder in folders)]


@contextlib.contextmanager
def own_dockerd(data: Path, run: Path) -> Iterator[Dockerd]:
    """Started; ended with the block, whatever state it is in then."""
    _need_root()
    daemon = Dockerd(data, run)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.end()


def copy_images(source: Engine, target: Engine, references: list[str]) -> None:
    """Images with all their names, from one engine into another."""
    # `docker save a b`, so that shared layers go once: the SDK takes one name only.
    address = f"{source.api.base_url}/v{source.api.api_version}/images/"
    with source.api.get(f"{address}get", params={"names": references}, stream=True) as answer:
        answer.raise_for_status()
        there = f"{target.api.base_url}/v{target.api.api_version}/images/load"
        loaded = target.api.post(there, params={"quiet": "1"}, data=answer.iter_content(1 << 20), timeout=300)
    loaded.raise_for_status()
    assert "error" not in loaded.text, loaded.text


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int, kind: str = "ext4") -> Iterator[Path]:
    """A file system of its own of this size: `ext4` in a file, which overlays can stand on, or a `tmpfs`."""
    _need_root()
    place = folder / "disk"
    place.mkdir(parents=True)
    if kind == "tmpfs":
        argv = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "envmill-test", str(place)]
    else:
        image = folder / "disk.img"
        with image.open("wb") as stream:
            stream.truncate(megabytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
        argv = ["mount", "-o", "loop", str(image), str(place)]
    subprocess.run(argv, check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def _need_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("mounts and engines of a test's own need root")
