"""The container engine: containers with a role and limits, images, and the bottom two layers everything is built on.

`engine.py` connects and starts, `container.py` is one running container, `spec.py` says what each role may do,
`base.py` and `runtime.py` make the images at the bottom, `outbound.py` is what a fetch container fetches through.
"""

from blocks.engine.base import ensure_base
from blocks.engine.container import Container
from blocks.engine.engine import Engine
from blocks.engine.faults import ContainerEndedError, ImageMissingError
from blocks.engine.outbound import fetch_environment
from blocks.engine.runtime import apt_get, apt_spec, clean_packages, ensure_python_runtime, install_packages
from blocks.engine.spec import ContainerSpec, ExecResult, MemoryFile, Network, Role
from blocks.owner import Owner

__all__ = [
    "Container",
    "ContainerEndedError",
    "ContainerSpec",
    "Engine",
    "ExecResult",
    "ImageMissingError",
    "MemoryFile",
    "Network",
    "Owner",
    "Role",
    "apt_get",
    "apt_spec",
    "clean_packages",
    "ensure_base",
    "ensure_python_runtime",
    "fetch_environment",
    "install_packages",
]
