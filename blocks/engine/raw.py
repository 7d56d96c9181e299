"""The four calls that docker-py has only as private methods, or without types. Nothing else reaches below its surface."""

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
