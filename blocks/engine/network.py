"""Whether containers on the engine's bridge reach the outside; where not, fetch containers use the host's network."""

from docker import APIClient

from blocks.engine.faults import engine_faults
from blocks.engine.outbound import probe_target
from blocks.errors import EnvmillError

_PROBE = 'exec 3<>"/dev/tcp/$0/$1"'


def outbound_mode(api: APIClient, image: str) -> str:
    """`bridge`, or `host` where only that reaches what this machine fetches from.

    Fetch containers run nothing of a repository and nothing of what they fetch.
    """
    target = probe_target()
    if target is None or _reaches(api, image, "bridge", target) or not _reaches(api, image, "host", target):
        return "bridge"
    return "host"


def _reaches(api: APIClient, image: str, mode: str, target: tuple[str, int]) -> bool:
    """Whether a container on this network opens a connection; False also where the engine has no such network."""
    try:
        return _asked(api, image, mode, target)
    except EnvmillError:
        return False


def _asked(api: APIClient, image: str, mode: str, target: tuple[str, int]) -> bool:
    with engine_faults("asking how containers reach the outside"):
        made = api.create_container(
            image,
            entrypoint=["/usr/bin/timeout", "-s", "KILL", "10", "/bin/bash", "-c"],
            command=[_PROBE, target[0], str(target[1])],
            user="65534:65534",
            host_config=api.create_host_config(network_mode=mode, cap_drop=["ALL"], security_opt=["no-new-privileges"]),
        )
        try:
            api.start(made["Id"])
            return int(api.wait(made["Id"], timeout=30)["StatusCode"]) == 0
        finally:
            api.remove_container(made["Id"], force=True, v=True)
