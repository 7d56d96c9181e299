"""Images as streams: what `docker save` writes, and what a Dockerfile build prints."""

import hashlib
import io
import tarfile
import time
from collections.abc import Collection, Iterator
from typing import IO, Any, BinaryIO

from docker import APIClient

from blocks.engine.clip import Clip
from blocks.engine.faults import engine_faults
from blocks.engine.raw import inspect_image
from blocks.engine.stream import as_file
from blocks.errors import PermanentError
from blocks.records import Record
from blocks.settings import EngineSettings

_TAR_MAGIC = slice(257, 262)


class LayerSize(Record):
    """One layer: sha256 of its tar, and how long that is."""

    sha256: str
    size: int


def layer_sizes(api: APIClient, reference: str) -> tuple[LayerSize, ...]:
    """The layers of an image; reads all of it."""
    return tuple(
        LayerSize(sha256=_sha256(stream), size=size)
        for name, size, stream in _members(api, reference)
        if name.startswith("layer/")
    )


def save_layers(
    api: APIClient, reference: str, leave_out: Collection[LayerSize] = ()
) -> Iterator[tuple[str, IO[bytes]]]:
    """Every layer and JSON document of an image; both forms of archive: docker 20's, and the OCI layout of docker 25.

    Layers in `leave_out` are passed over. The older form does not name a layer by its hash: one of the same length is
    hashed, and if it is another one after all, it comes at the end, from a second reading.
    """
    digests = {layer.sha256 for layer in leave_out}
    sizes = {layer.size for layer in leave_out}
    others: set[str] = set()
    for name, size, stream in _members(api, reference):
        if name.startswith("layer/") and name.rpartition("/")[2] in digests:
            continue
        if name.startswith("layer/") and size in sizes:
            if _sha256(stream) not in digests:
                others.add(name)
            continue
        yield name, stream
    if others:
        yield from ((name, stream) for name, _, stream in _members(api, reference) if name in others)


def _members(api: APIClient, reference: str) -> Iterator[tuple[str, int, IO[bytes]]]:
    with engine_faults(f"saving {reference}"):
        chunks = api.get_image(reference, chunk_size=1 << 20)
        with tarfile.open(fileobj=as_file(iter(chunks)), mode="r|") as archive:
            for entry in archive:
                reader = archive.extractfile(entry) if entry.isreg() else None
                if reader is None:
                    continue
                stream = io.BufferedReader(reader, 1 << 16)  # type: ignore[type-var]
                kind = "layer" if _is_tar(stream.peek(512)) else "json"
                yield f"{kind}/{entry.name}", entry.size, stream


def _sha256(stream: IO[bytes]) -> str:
    sha256 = hashlib.sha256()
    while chunk := stream.read(1 << 20):
        sha256.update(chunk)
    return sha256.hexdigest()


def build(
    api: APIClient,
    context_tar: BinaryIO | bytes,
    reference: str,
    buildargs: dict[str, str],
    network_mode: str,
    log: BinaryIO | None,
    timeout_sec: int,
    settings: EngineSettings,
    *,
    target: str | None = None,
    anew: bool = False,
) -> str:
    """See Engine.build. The engine's own builder: steps run with its default capabilities, within memory and time."""
    memory = settings.memory_mb << 20
    output = Clip(1 << 12, 1 << 14)
    full = Clip(settings.log_mb << 19, settings.log_mb << 19, log) if log else None
    deadline = time.monotonic() + timeout_sec
    fault = ""
    with engine_faults(f"building {reference}"):
        lines: Iterator[dict[str, Any]] = api.build(
            fileobj=io.BytesIO(context_tar) if isinstance(context_tar, bytes) else context_tar,
            custom_context=True,
            tag=reference,
            buildargs=buildargs,
            network_mode=network_mode,
            container_limits={"memory": memory, "memswap": memory},
            rm=True,
            forcerm=True,
            pull=False,
            target=target or "",
            nocache=anew,
            timeout=timeout_sec,
            decode=True,
        )
        for line in lines:
            text = str(line.get("stream", "")).encode()
            output.feed(text)
            if full:
                full.feed(text)
            fault = str(line.get("error", "")) or fault
            if time.monotonic() > deadline:
                fault = f"not done after {timeout_sec} s"
                break
        if full:
            full.finish(fault)
        if fault:
            raise PermanentError(f"building {reference}: {fault}\n{output.finish().decode(errors='replace')[-4000:]}")
        return str(inspect_image(api, reference)["Id"])


def _is_tar(head: bytes) -> bool:
    return head[_TAR_MAGIC] == b"ustar" or (len(head) >= 512 and not any(head[:512]))
