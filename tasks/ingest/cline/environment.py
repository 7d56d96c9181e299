"""The `<environment_details>` block that Cline adds to user rows: working directory, remotes and commit."""

import json
import re
from collections.abc import Sequence

from blocks.errors import UsageError
from blocks.records import Record
from blocks.repositories import normalise
from tasks.ingest.raw import as_list, as_map, as_text

OPENING = "<environment_details>"
_CONFIGURATION = re.compile(r"^# Workspace Configuration\n", re.MULTILINE)
_DIRECTORY = re.compile(r"^# Current Working Directory \((.+?)\) Files$", re.MULTILINE)
_COMMIT = re.compile(r"^[0-9a-f]{40}$")


class Workspace(Record):
    """One workspace root. `repository` is its public identity, None where no remote is one."""

    root: str
    repository: str | None
    commit: str | None


class Environment(Record):
    """What one environment block says."""

    directory: str | None
    workspaces: tuple[Workspace, ...]

    def main(self) -> Workspace | None:
        """The workspace that is the working directory, else the first with a repository, else the first."""
        by_directory = [space for space in self.workspaces if space.root == self.directory]
        with_repository = [space for space in self.workspaces if space.repository]
        return next(iter([*by_directory, *with_repository, *self.workspaces]), None)


def parse_environment(text: str) -> Environment:
    """Read an environment block; what is missing or malformed is left out (Cline 3.32.6+ has the configuration)."""
    directory = _DIRECTORY.search(text)
    return Environment(directory=directory[1] if directory else None, workspaces=_workspaces(text))


def _workspaces(text: str) -> tuple[Workspace, ...]:
    heading = _CONFIGURATION.search(text)
    if not heading:
        return ()
    try:
        value, _ = json.JSONDecoder().raw_decode(text, heading.end())
    except (ValueError, RecursionError):
        return ()
    found = []
    for root, entry in as_map(as_map(value).get("workspaces")).items():
        commit = as_text(as_map(entry).get("latestGitCommitHash")).lower()
        found.append(
            Workspace(
                root=as_text(root),
                repository=_repository(as_list(as_map(entry).get("associatedRemoteUrls"))),
                commit=commit if _COMMIT.match(commit) else None,
            )
        )
    return tuple(found)


def _repository(remotes: Sequence[object]) -> str | None:
    """The identity of `origin`, else of `upstream`, else of the first remote that has one."""
    named: dict[str, str] = {}
    for remote in remotes:
        name, _, url = as_text(remote).partition(": ")
        try:
            named.setdefault(name, normalise(url or name))
        except UsageError:
            continue
    return named.get("origin") or named.get("upstream") or next(iter(named.values()), None)
