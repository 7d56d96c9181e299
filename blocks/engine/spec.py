"""What a container may be and do: its role decides user and capabilities, its network what it can reach."""

from enum import StrEnum
from pathlib import Path

from pydantic import model_validator

from blocks.records import Record


class Network(StrEnum):
    """NONE: a loopback device only. FETCH: outbound access; allowed for containers that run no code of a repository."""

    NONE = "none"
    FETCH = "fetch"


class Role(StrEnum):
    """What a container is for."""

    FETCH = "fetch"
    """Downloads. Runs none of the repository's code."""
    SUBJECT = "subject"
    """Runs the repository's or an agent's code, unprivileged."""
    GRADER = "grader"
    """Starts as root, drops to the subject's user and back; decides."""
    BUILD = "build"
    """Installs what was fetched, as root, without network."""


UNPRIVILEGED = "1000:1000"
"""User of a subject where neither the spec nor the image names one that is not root."""

_BUILD = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID")

CAPABILITIES: dict[Role, tuple[str, ...]] = {
    Role.FETCH: (),
    Role.SUBJECT: (),
    Role.GRADER: ("CHOWN", "DAC_OVERRIDE", "KILL", "SETGID", "SETUID"),
    Role.BUILD: _BUILD,
}
"""Everything else is dropped; `no-new-privileges` holds for every role."""

PACKAGE_INSTALLER = (*_BUILD, "FSETID")
"""What apt and dpkg need in a fetch container: packages' owners and modes, their set-id bits."""


SHARED_MEMORY = "/dev/shm"


class MemoryFile(Record):
    """A file of this machine that a fetch container sees as a copy in its memory, never in a layer."""

    source: Path
    target: str
    """Absolute, below `/dev/shm/`."""

    @model_validator(mode="after")
    def _leaves_no_trace(self) -> "MemoryFile":
        if not self.target.startswith(f"{SHARED_MEMORY}/") or ".." in self.target.split("/"):
            raise ValueError(f"{self.target} is not below {SHARED_MEMORY}/: it would land in an image")
        return self


class ContainerSpec(Record):
    """One container to start. Limits that are None follow the settings."""

    image: str
    role: Role
    network: Network = Network.NONE
    deadline_sec: int
    """The container ends by itself after this time, also when nobody is left to end it."""
    user: str | None = None
    """User of commands, `uid:gid` or a name. None: the image's user or 1000:1000 for a subject, root for others."""
    workdir: str = "/"
    environment: tuple[tuple[str, str], ...] = ()
    """Given to each command; never part of the container, so that no commit carries it."""
    labels: tuple[tuple[str, str], ...] = ()
    memory_files: tuple[MemoryFile, ...] = ()
    """For fetch containers only."""
    installs_packages: bool = False
    """A fetch container that runs apt: gets PACKAGE_INSTALLER instead of nothing."""
    memory_mb: int | None = None
    cpus: float | None = None
    pids: int | None = None
    written_mb: int | None = None

    @model_validator(mode="after")
    def _fetching_runs_nothing_else(self) -> "ContainerSpec":
        if self.role is not Role.FETCH and (
            self.network is Network.FETCH or self.memory_files or self.installs_packages
        ):
            raise ValueError(
                f"a {self.role} container has no network, no files of this machine and no package installer"
            )
        return self

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Capabilities this container starts with."""
        return PACKAGE_INSTALLER if self.installs_packages else CAPABILITIES[self.role]


class ExecResult(Record):
    """How one command ended. `exit_code` is None where the container ended before the command did."""

    exit_code: int | None
    timed_out: bool
    output: str
    """stdout and stderr as they came, UTF-8 with replacement, cut in the middle beyond 64 KB."""
    seconds: float
    out_of_memory: bool
    """The memory limit ended a process of the container during this command."""
    written_limit: bool = False
    """The watchdog ended the container because it wrote more than its limit."""
    container_ended: bool = False
    """The container is gone (time, written bytes, its deadline): no further command runs in it."""

    @property
    def ok(self) -> bool:
        """Ran to its end and said so."""
        return self.exit_code == 0 and not self.timed_out
