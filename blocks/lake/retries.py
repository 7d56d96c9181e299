"""Retry marks: how often somebody asked for a phase of a candidate to be done again. Part of the input key.

The objects are `candidates/<id>/retries/<phase>/<n>.json`, n from 1. Each has a pointer, as commits have: the catalog knows
them, so that what is pending can be asked of it.
"""

import json
import re
import secrets
from datetime import UTC, datetime

from blocks.lake.commit import point
from blocks.lake.store import ObjectStore
from blocks.records import Phase, Record

_MARK = re.compile(rf"candidates/([^/]+)/retries/({'|'.join(Phase)})/([0-9]+)\.json")


def attempt_of(store: ObjectStore, candidate_id: str, phase: Phase) -> int:
    """How often a retry was asked for; 0 where never. Goes into `input_key(..., attempt=...)`."""
    folder = _folder(candidate_id, phase)
    numbers = (info.key.removeprefix(folder).removesuffix(".json") for info in store.list(folder))
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def ask_retry(store: ObjectStore, candidate_id: str, phase: Phase) -> int:
    """Ask for one more attempt and return its number. The phase then has a new input key, so nothing is reused."""
    number = attempt_of(store, candidate_id, phase)
    while True:
        number += 1
        now = datetime.now(UTC)
        mark = {"asked_at": now.isoformat(), "nonce": secrets.token_hex(16)}
        path = f"{_folder(candidate_id, phase)}{number}.json"
        point(store, path, now)
        if store.put_if_absent(path, json.dumps(mark).encode()):
            return number


class Retry(Record):
    """One retry mark."""

    path: str
    candidate_id: str
    phase: Phase
    attempt: int


def retry_at(path: str) -> Retry | None:
    """The retry mark that lies at this key; None where the key is of something else."""
    found = _MARK.fullmatch(path)
    if found is None:
        return None
    return Retry(path=path, candidate_id=found[1], phase=Phase(found[2]), attempt=int(found[3]))


def _folder(candidate_id: str, phase: Phase) -> str:
    return f"candidates/{candidate_id}/retries/{phase}/"
