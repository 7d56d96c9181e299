"""The calls that docker-py has only as private methods, or without types. Nothing else reaches below its surface."""

from socket import SHUT_WR
from typing import Any

from docker import APIClient

from blocks.engine.faults import engine_faults


def inspect_image(api: APIClient, reference: str) -> dict[str, Any]:
    """What the engine knows of an image. Raises ImageMissingError."""
    with engine_faults(f"image {reference}"):
        return dict(api.inspect_image(reference))  # type: ignore[no-untyped-call]


def start_exec(api: APIClient, exec_id: str) -> Any:
    """The response of a started exec, its connection open and not read."""
    connection: Any = api
    response = connection._post_json(
        connection._url("/exec/{0}/start", exec_id),
        headers={"Connection": "Upgrade", "Upgrade": "tcp"},
        data={"Tty": False, "Detach": False},
        stream=True,
    )
    connection._raise_for_status(response)
    return response


def has_path(api: APIClient, container_id: str, path: str) -> bool:
    """Whether a container has this path."""
    connection: Any = api
    response = connection.head(connection._url("/containers/{0}/archive", container_id), params={"path": path})
    if response.status_code == 404:
        return False
    connection._raise_for_status(response)
    return True


def feed_exec(api: APIClient, exec_id: str, content: bytes) -> bytes:
    """Start an exec made with `stdin=True`, write to its input, close that, and return what it printed, raw."""
    response = start_exec(api, exec_id)
    try:
        buffer = response.raw._fp.fp
        socket = buffer.raw._sock
        socket.sendall(content)
        socket.shutdown(SHUT_WR)
        return bytes(buffer.read())
    finally:
        response.close()
