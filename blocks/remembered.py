"""What one candidate's work taught about a repository, kept for its next candidates.

The content lies below the candidate it came from (`candidates/<id>/remembered/`), so that it goes when the candidate
goes; a pointer below `recipes/<repository>/<kind>/` finds it. A pointer whose content is gone finds nothing.
"""

import hashlib
from datetime import datetime

from pydantic import ValidationError

from blocks.lake import ObjectMissingError, ObjectStore
from blocks.records import Record

_POINTERS = "recipes/"


class Pointer(Record):
    """Where the content is, and since when."""

    key: str
    digest: str
    remembered_at: datetime


class Remembered(Record):
    """A content, and its sha256: what a later candidate's rows name, not the candidate it came from."""

    content: bytes
    digest: str


def remember(
    store: ObjectStore, repository: str, kind: str, candidate_id: str, content: bytes, remembered_at: datetime
) -> None:
    """Keep a content for the repository's next candidates. `kind`: a name without `/` that no other use shares."""
    digest = hashlib.sha256(content).hexdigest()
    key = f"candidates/{candidate_id}/remembered/{kind}-{digest[:32]}.json"
    pointer = Pointer(key=key, digest=digest, remembered_at=remembered_at)
    store.put(key, content)
    store.put(f"{_folder(repository, kind)}{candidate_id}.json", pointer.model_dump_json().encode())


def recall(store: ObjectStore, repository: str, kind: str) -> Remembered | None:
    """What was remembered last of this kind, by any candidate of the repository that is still there."""
    pointers = []
    for info in store.list(_folder(repository, kind)):
        try:
            pointers.append(Pointer.model_validate_json(store.get(info.key)))
        except (ObjectMissingError, ValidationError):  # Gone since, or another version's.
            continue
    for pointer in sorted(pointers, key=lambda one: (one.remembered_at, one.digest), reverse=True):
        try:
            content = store.get(pointer.key)
        except ObjectMissingError:
            continue
        if hashlib.sha256(content).hexdigest() == pointer.digest:
            return Remembered(content=content, digest=pointer.digest)
    return None


def forget(store: ObjectStore, candidate_id: str) -> int:
    """Remove everything that was remembered from a candidate, pointers too. Returns how many objects went."""
    keys = [info.key for info in store.list(f"candidates/{candidate_id}/remembered/")]
    keys += [info.key for info in store.list(_POINTERS) if info.key.endswith(f"/{candidate_id}.json")]
    for key in keys:
        store.delete(key)
    return len(keys)


def _folder(repository: str, kind: str) -> str:
    return f"{_POINTERS}{hashlib.sha256(repository.encode()).hexdigest()[:32]}/{kind}/"
