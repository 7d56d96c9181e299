"""Public repositories, read from a mirror cache. Nothing of a repository is ever run: see `git.py` for how.

`address.py` gives a repository its one public identity, `sources.py` says where it is read from, `mirrors.py` keeps bare
copies, `unlisted.py` brings commits that no branch holds, `repository.py` answers questions about one mirror with the
records of `records.py`, `submodules.py` makes whole checkouts.
"""

from blocks.repositories.address import normalise
from blocks.repositories.git import GitError, ObjectsMissingError
from blocks.repositories.mirrors import MirrorCache
from blocks.repositories.records import Commit, FileChange, Hunk, LineEdits, Reach, Submodule, TreeEntry, Way
from blocks.repositories.repository import Repository
from blocks.repositories.snapshot import Snapshot
from blocks.repositories.sources import MirrorMap, RepositoryUnavailableError, RepositoryUnreachableError
from blocks.repositories.submodules import Checkout, Checkouts

__all__ = [
    "Checkout",
    "Checkouts",
    "Commit",
    "FileChange",
    "GitError",
    "Hunk",
    "LineEdits",
    "MirrorCache",
    "MirrorMap",
    "ObjectsMissingError",
    "Reach",
    "Repository",
    "RepositoryUnavailableError",
    "RepositoryUnreachableError",
    "Snapshot",
    "Submodule",
    "TreeEntry",
    "Way",
    "normalise",
]
