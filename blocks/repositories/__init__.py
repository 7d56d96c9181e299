"""Public repositories, read from a mirror cache. Nothing of a repository is ever run: see `git.py` for how.

`address.py` gives a repository its one public identity, `mirrors.py` keeps bare copies, `repository.py` answers
questions about one of them with the records of `records.py`.
"""

from blocks.repositories.address import normalise
from blocks.repositories.git import GitError, ObjectsMissingError
from blocks.repositories.mirrors import MirrorCache, RepositoryUnavailableError, RepositoryUnreachableError
from blocks.repositories.records import Commit, FileChange, Hunk, LineEdits, TreeEntry
from blocks.repositories.repository import Repository
from blocks.repositories.snapshot import Snapshot

__all__ = [
    "Commit",
    "FileChange",
    "GitError",
    "Hunk",
    "LineEdits",
    "MirrorCache",
    "ObjectsMissingError",
    "Repository",
    "RepositoryUnavailableError",
    "RepositoryUnreachableError",
    "Snapshot",
    "TreeEntry",
    "normalise",
]
