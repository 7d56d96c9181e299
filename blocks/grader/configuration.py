"""The pytest configuration of a run, written where the subject cannot change it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

PATH_KEYS = ("pythonpath", "python_paths")
"""Options whose relative paths pytest takes from the folder of the ini file, which is not the workspace here."""


def ini_text(lines: Iterable[str], workspace: Path) -> str:
    """A pytest.ini with the given lines in its [pytest] section; relative import paths become the workspace's."""
    options: list[list[str]] = []
    for line in lines:
        if line[:1].isspace() and options:
            options[-1].append(line)
        elif line.strip():
            options.append([line])
    return "\n".join(("[pytest]", *(_option(option, workspace) for option in options), ""))


def _option(lines: list[str], workspace: Path) -> str:
    key, separator, value = lines[0].partition("=")
    if not separator or key.strip() not in PATH_KEYS:
        return "\n".join(lines)
    paths = shlex.split("\n".join((value, *lines[1:])), comments=True)
    return f"{key.strip()} = " + " ".join(shlex.quote(str(workspace / path)) for path in paths)
