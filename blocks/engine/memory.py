"""Files that a fetch container needs and no image may keep: they go to the container's shared memory.

A bind mount would not do: copying into a running container makes the engine create its mount point in the container's
layer, and the next commit keeps it (seen with docker 20.10). This also works where the engine is on another machine.
"""

import io
import tarfile
from collections.abc import Sequence

from docker import APIClient

from blocks.engine.faults import engine_faults
from blocks.engine.raw import feed_exec
from blocks.engine.spec import SHARED_MEMORY, MemoryFile
from blocks.errors import PermanentError


def place(api: APIClient, container_id: str, files: Sequence[MemoryFile]) -> None:
    """Write the files into a running container's memory, readable by all of its users."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for file in files:
            content = file.source.read_bytes()
            entry = tarfile.TarInfo(file.target.removeprefix(f"{SHARED_MEMORY}/"))
            entry.size, entry.mode = len(content), 0o444
            archive.addfile(entry, io.BytesIO(content))
    with engine_faults("giving a fetch container its files"):
        made = api.exec_create(
            container_id, ["/bin/tar", "--no-same-owner", "-xf", "-", "-C", SHARED_MEMORY], user="0:0", stdin=True
        )
        said = feed_exec(api, made["Id"], buffer.getvalue())
        code = api.exec_inspect(made["Id"])["ExitCode"]
    if code:
        raise PermanentError(
            f"a fetch container could not take its files ({code}): {said[-500:]!r}; its image needs tar"
        )
