"""The container engine over the docker SDK: containers with a role, images, builds."""

import json
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import docker
from docker import APIClient
from docker.errors import DockerException, NotFound
from docker.utils import kwargs_from_env, parse_repository_tag
from requests.exceptions import RequestException

from blocks.engine import images, memory, reaper
from blocks.engine.container import Container
from blocks.engine.faults import engine_faults
from blocks.engine.network import outbound_mode
from blocks.engine.raw import inspect_image
from blocks.engine.retention import LastUse
from blocks.engine.spec import UNPRIVILEGED, ContainerSpec, Network, Role
from blocks.engine.transcript import Transcript
from blocks.engine.usage import Usage
from blocks.errors import PermanentError, ServiceMissingError
from blocks.owner import Owner
from blocks.settings import EngineSettings

_SOCKET = "unix:///var/run/docker.sock"
_MEND_ACCESS = (
    "this user may not use its socket; join its group (usermod -aG docker, then log in again), or run as root"
)
_MEND = "start it (`dockerd`, or the Docker service), run `make setup`, or name another in ENVMILL_ENGINE__HOST"


class Engine:
    """A connection to one engine. Shared by threads; not by processes."""

    def __init__(self, api: APIClient, settings: EngineSettings, owner: Owner) -> None:
        self.api = api
        self.settings = settings
        self.owner = owner
        with engine_faults("asking the container engine"):
            self._cpus = float(api.info()["NCPU"])
        self.last_use: LastUse | None = None
        """Where uses of images are noted, for retention."""
        self._transcript: Transcript | None = None
        self._outbound: str | None = None
        self.usage = Usage()
        """What the containers of this connection took."""

    @classmethod
    def connect(cls, settings: EngineSettings, owner: Owner) -> "Engine":
        """Connect and ask.

        Raises:
            ServiceMissingError: nothing answers there; says what to do.
        """
        options: dict[str, Any] = {**kwargs_from_env()}
        if settings.host:
            options["base_url"] = settings.host
        try:
            api = APIClient(version="auto", timeout=120, **options)
        except (DockerException, RequestException) as error:
            where = str(options.get("base_url") or _SOCKET)
            mend = _MEND_ACCESS if _is_refused(where) else _MEND
            raise ServiceMissingError(f"no container engine answers at {where}: {mend}") from error
        return cls(api, settings, owner)

    def container(self, spec: ContainerSpec) -> Container:
        """Create and start a container; to be used as a context manager.

        Raises:
            ImageMissingError: the engine does not have the image.
        """
        image = inspect_image(self.api, spec.image)
        user = _user(spec, image["Config"].get("User") or "")
        with engine_faults(f"starting a container of {spec.image}"):
            made = self.api.create_container(
                spec.image,
                # Cleared, not set: a commit cannot take a container's entrypoint off the image it makes.
                entrypoint=[""],
                command=["/bin/sleep", str(spec.deadline_sec)],
                stop_signal="SIGKILL",  # sleep as process 1 ignores the default; images inherit this, and end at once
                user="0:0",
                labels=self._labels(spec),
                host_config=self._host_config(spec),
            )
        written_mb = spec.written_mb or self.settings.written_mb
        container = Container(
            self.api,
            made["Id"],
            spec,
            user,
            written_bytes=written_mb << 20,
            log_bytes=self.settings.log_mb << 20,
            usage=self.usage,
            transcript=self._transcript,
        )
        try:
            with engine_faults(f"starting a container of {spec.image}"):
                self.api.start(container.id)
            if spec.memory_files:
                memory.place(self.api, container.id, spec.memory_files)
        except BaseException:
            container.remove()
            raise
        self.usage.started()
        if self.last_use:
            self.last_use.note(spec.image)
        return container

    @contextmanager
    def transcribed(self) -> Iterator[Transcript]:
        """Write down every command, and what it said, of the containers that are started within; up to log_mb."""
        before, self._transcript = self._transcript, Transcript(self.settings.log_mb << 20)
        try:
            yield self._transcript
        finally:
            self._transcript = before

    def describe(self) -> str:
        """Name and version of the engine, for people."""
        with engine_faults("asking the engine for its version"):
            version = self.api.version()
        return f"Docker {version.get('Version', '?')} on {version.get('Os', '?')}/{version.get('Arch', '?')}"

    def started_count(self) -> int:
        """Containers this object has started."""
        return self.usage.containers

    def image_id(self, reference: str) -> str | None:
        """Id of an image, or None where the engine does not have it."""
        try:
            return str(self._image(reference)["Id"])
        except PermanentError:
            return None

    def image_size(self, reference: str) -> int:
        """Bytes of all layers."""
        return int(self._image(reference)["Size"])

    def image_labels(self, reference: str) -> dict[str, str]:
        """Labels of an image; empty ones are left out."""
        labels = self._image(reference)["Config"].get("Labels") or {}
        return {key: value for key, value in labels.items() if value}

    def unique_bytes(self, reference: str, below: str) -> int:
        """Bytes of the layers that `below` does not have.

        Raises:
            PermanentError: `below` is not what the image was made from.
        """
        image, base = self._image(reference), self._image(below)
        base_layers = base["RootFS"].get("Layers") or []
        if (image["RootFS"].get("Layers") or [])[: len(base_layers)] != base_layers:
            raise PermanentError(f"image {reference} is not built on {below}: its own bytes cannot be told")
        return int(image["Size"]) - int(base["Size"])

    def save_layers(
        self, reference: str, leave_out: Collection[images.LayerSize] = ()
    ) -> Iterator[tuple[str, IO[bytes]]]:
        """Each layer's tar as (`layer/<name>`, stream) and each JSON document as (`json/<name>`, stream).

        A stream must be read before the next item is asked for. Layers in `leave_out` do not come.
        """
        return images.save_layers(self.api, reference, leave_out)

    def layer_sizes(self, reference: str) -> tuple[images.LayerSize, ...]:
        """Hash and length of each layer; reads the whole image."""
        return images.layer_sizes(self.api, reference)

    def build(
        self,
        context_tar: BinaryIO | bytes,
        reference: str,
        *,
        buildargs: Mapping[str, str] | None = None,
        network: Network = Network.NONE,
        log: BinaryIO | None = None,
        timeout_sec: int = 1800,
        target: str | None = None,
        anew: bool = False,
    ) -> str:
        """Build the Dockerfile at the root of a context and return the image's id. Nothing is pulled.

        `target`: the stage to stop at. `anew`: take nothing from earlier builds.

        Raises:
            PermanentError: an instruction failed; the message holds the end of the output.
        """
        mode = "none" if network is Network.NONE else self._outbound_mode(self.settings.base_image)
        return images.build(
            self.api, context_tar, reference, dict(buildargs or {}), mode, log, timeout_sec, self.settings,
            target=target, anew=anew,
        )  # fmt: skip

    def tag(self, reference: str, new: str) -> None:
        """Give an image another name."""
        repository, tag = parse_repository_tag(new)
        with engine_faults(f"tagging {reference}"):
            self.api.tag(reference, repository, tag or "latest")

    def remove_image(self, reference: str) -> None:
        """Take a name off an image, and the image away with its last name. Nothing happens where there is none."""
        with engine_faults(f"removing {reference}"):
            try:
                self.api.remove_image(reference, force=False)
            except NotFound:
                return

    def reap(self) -> int:
        """Remove containers of ours whose owner is dead or whose deadline is past. Returns how many."""
        return reaper.reap(self.api)

    def remove_own(self) -> int:
        """Remove every container this process has started, through whichever connection. Returns how many."""
        return reaper.remove_owned(self.api, self.owner)

    def remove_of_run(self) -> int:
        """Remove what this process has started for this object's flow run. Returns how many; 0 where it has none."""
        return reaper.remove_of_run(self.api, self.owner)

    def _image(self, reference: str) -> dict[str, Any]:
        return inspect_image(self.api, reference)

    def _labels(self, spec: ContainerSpec) -> dict[str, str]:
        owner = self.owner.model_dump(exclude={"flow_run_id"})
        return {
            **dict(spec.labels),
            reaper.OWNER: json.dumps(owner, sort_keys=True),
            reaper.DEADLINE: str(int(time.time()) + spec.deadline_sec),
            reaper.FLOW_RUN: self.owner.flow_run_id or "",
            reaper.ROLE: spec.role.value,
        }

    def _host_config(self, spec: ContainerSpec) -> dict[str, Any]:
        memory = f"{spec.memory_mb or self.settings.memory_mb}m"
        subject = spec.role is not Role.FETCH
        return self.api.create_host_config(
            init=True,
            network_mode="none" if spec.network is Network.NONE else self._outbound_mode(spec.image),
            cap_drop=["ALL"],
            cap_add=list(spec.capabilities),
            security_opt=["no-new-privileges"],
            mem_limit=memory,
            memswap_limit=memory,
            nano_cpus=int(min(spec.cpus or self.settings.cpus, self._cpus) * 1e9),
            pids_limit=spec.pids or self.settings.pids,
            log_config=docker.types.LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}),
            runtime=self.settings.runtime if subject else None,
        )

    def _outbound_mode(self, image: str) -> str:
        if self._outbound is None:
            self._outbound = outbound_mode(self.api, image)
        return self._outbound


def _is_refused(address: str) -> bool:
    socket = Path(address.removeprefix("unix://"))
    return address.startswith("unix://") and socket.exists() and not os.access(socket, os.W_OK)


def _user(spec: ContainerSpec, image_user: str) -> str:
    if spec.user:
        return spec.user
    if spec.role is not Role.SUBJECT:
        return "0:0"
    return UNPRIVILEGED if image_user.split(":")[0] in ("", "0", "root") else image_user
