"""The object store: rows as Parquet, large things as objects; a manifest written last is the commit.

`store.py` is the protocol, `file.py` and `s3.py` its two forms, `lease.py` keeps two workers from the same work,
`commit.py` is a phase's way of writing, `read.py` of reading it back, `retries.py` counts attempts.
"""

from blocks.lake.commit import FileEntry, Manifest, PhaseKey, PhaseWriter, commit_phase, find_manifest
from blocks.lake.lease import Lease, LeaseHeldError, LeaseLostError, acquire_lease
from blocks.lake.open import open_store
from blocks.lake.read import load_rows, read_object, read_record, read_table
from blocks.lake.retries import ask_retry, attempt_of
from blocks.lake.store import ObjectInfo, ObjectMissingError, ObjectStore
from blocks.owner import Owner

__all__ = [
    "FileEntry",
    "Lease",
    "LeaseHeldError",
    "LeaseLostError",
    "Manifest",
    "ObjectInfo",
    "ObjectMissingError",
    "ObjectStore",
    "Owner",
    "PhaseKey",
    "PhaseWriter",
    "acquire_lease",
    "ask_retry",
    "attempt_of",
    "commit_phase",
    "find_manifest",
    "load_rows",
    "open_store",
    "read_object",
    "read_record",
    "read_table",
]
