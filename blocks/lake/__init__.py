"""The object store: rows as Parquet, large things as objects; a manifest written last is the commit.

`store.py` is the protocol, `file.py` and `s3.py` its two forms, `lease.py` keeps two workers from the same work,
`commit.py` is a phase's way of writing.
"""

from blocks.lake.commit import FileEntry, Manifest, PhaseKey, PhaseWriter, commit_phase, find_manifest
from blocks.lake.lease import Lease, LeaseHeldError, acquire_lease
from blocks.lake.open import open_store
from blocks.lake.store import ObjectInfo, ObjectMissingError, ObjectStore

__all__ = [
    "FileEntry",
    "Lease",
    "LeaseHeldError",
    "Manifest",
    "ObjectInfo",
    "ObjectMissingError",
    "ObjectStore",
    "PhaseKey",
    "PhaseWriter",
    "acquire_lease",
    "commit_phase",
    "find_manifest",
    "open_store",
]
