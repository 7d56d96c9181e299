"""Answers that are kept: of each candidate in the lake, and recorded ones in a folder or below a prefix of the lake.

Both hold the same objects, named by the key of the whole request: an answer that was paid for becomes a recorded one by
copying it.
"""

from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from blocks.errors import UsageError
from blocks.lake.store import ObjectMissingError, ObjectStore
from blocks.llm.faults import Fault, NoAnswerError
from blocks.llm.messages import Completion, ModelRequest
from blocks.records import Record

LAKE = "lake:"


class Exchange(Record):
    """A request's key, what it was about, and the answer."""

    key: str
    prompt: str
    models: tuple[str, ...]
    paid_by: str
    """Who paid: the input key of the phase run, or another name of a piece of work."""
    last_message: str
    """The end of what was asked, for people."""
    completion: Completion


class Kept(Protocol):
    """Answers by key."""

    def find(self, key: str) -> Exchange | None:
        """The answer of this key, or None."""
        ...


class CandidateCache:
    """Answers below `candidates/<id>/models/`: what withdraws the candidate removes them too."""

    def __init__(self, store: ObjectStore, candidate_id: str) -> None:
        self.store = store
        self.prefix = f"candidates/{candidate_id}/models/"

    def find(self, key: str) -> Exchange | None:
        """The answer, where one is kept; what cannot be read is none."""
        return _find(self.store, self.prefix, key)

    def keep(self, exchange: Exchange) -> None:
        """Keep an answer; the first of a key stays."""
        self.store.put_if_absent(f"{self.prefix}{exchange.key}.json", exchange.model_dump_json(indent=1).encode())


class FolderRecordings:
    """Answers in a folder: `<key>.json`, at any depth."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._paths = {path.stem: path for path in sorted(folder.rglob("*.json"))}

    def find(self, key: str) -> Exchange | None:
        """The answer, where one is recorded."""
        path = self._paths.get(key)
        return _parsed(path.read_bytes(), key) if path else None


class LakeRecordings:
    """Answers below a prefix of the lake."""

    def __init__(self, store: ObjectStore, prefix: str) -> None:
        self.store = store
        self.prefix = prefix.strip("/") + "/"

    def find(self, key: str) -> Exchange | None:
        """The answer, where one is recorded."""
        return _find(self.store, self.prefix, key)


def recordings(place: str | None, store: ObjectStore) -> Kept:
    """The recorded answers that `models.recorded` names: a folder, or `lake:<prefix>`.

    Raises:
        UsageError: it names none, or a folder that is not there.
    """
    if place is None:
        raise UsageError(
            "qualify.provider = 'recorded' and models.recorded is not set; set it to a folder of kept answers or to "
            "'lake:<prefix>'"
        )
    if place.startswith(LAKE):
        return LakeRecordings(store, place.removeprefix(LAKE))
    if not Path(place).is_dir():
        raise UsageError(
            f"models.recorded names {place}, which is no folder; correct the path, or record answers with "
            "qualify.provider = 'litellm' and copy them there from candidates/<id>/models/ of the lake"
        )
    return FolderRecordings(Path(place))


def not_recorded(request: ModelRequest) -> NoAnswerError:
    """What is said of a request that has no recorded answer."""
    return NoAnswerError(
        Fault.NOT_RECORDED,
        f"no recorded answer of {'/'.join(request.models)} to {request.prompt} {request.key[:12]} "
        f"(turn {len(request.messages)}); record it with qualify.provider = 'litellm', or correct models.recorded",
    )


def _find(store: ObjectStore, prefix: str, key: str) -> Exchange | None:
    try:
        return _parsed(store.get(f"{prefix}{key}.json"), key)
    except ObjectMissingError:
        return None


def _parsed(content: bytes, key: str) -> Exchange | None:
    try:
        found = Exchange.model_validate_json(content)
    except ValidationError:
        return None
    return found if found.key == key else None
