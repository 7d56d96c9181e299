"""Where things lie inside every container of a Python candidate; published Dockerfiles use the same places."""

import posixpath

WORKSPACE = "/app"
VENV = "/opt/venv"
PYTHON = f"{VENV}/bin/python"
SYSTEM_PYTHON = "/usr/bin/python3"
AGENT_USER = "agent"
AGENT_UID = 1000
WHEELS = "/tmp/wheels"
GRADER = "/opt/envmill"
TESTS = "/tests"
VERDICT = "/logs/verifier"


def in_workspace(path: str = ".") -> str:
    """Where a path that is relative to the workspace lies in a container; `.` is the workspace itself."""
    return posixpath.normpath(posixpath.join(WORKSPACE, path))


def site_packages(runtime: str) -> str:
    """Folder of installed packages for a runtime version such as `3.11`."""
    return f"{VENV}/lib/python{runtime}/site-packages"
