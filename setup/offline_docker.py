"""Harbor's Docker environment with the network off, for machines that cannot pull Harbor's egress sidecar.

Harbor 0.26 enforces `network_mode` by a sidecar whose images come from a public registry. Where a task asks for no
network at all, its own compose file `docker-compose-no-network.yaml` does that without any image: the container then has
a loopback interface only. Allow lists stay unsupported. Use: `harbor run -e offline_docker:OfflineDocker ...`.
"""

from pathlib import Path
from typing import override

from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.environments.docker import docker
from harbor.models.task.config import NetworkMode

NO_NETWORK = Path(docker.__file__).with_name("docker-compose-no-network.yaml")


class OfflineDocker(docker.DockerEnvironment):
    """Runs agent and verifier of a `no-network` task in containers that have no network."""

    @classmethod
    @override
    def _egress_control_kernel_support(cls) -> bool:
        return False

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return super().capabilities.model_copy(update={"disable_internet": True})

    @property
    @override
    def _docker_compose_paths(self) -> list[Path]:
        paths = super()._docker_compose_paths
        return [*paths, NO_NETWORK] if self.network_policy.network_mode is NetworkMode.NO_NETWORK else paths
