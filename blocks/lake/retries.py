"""Retry marks: how often somebody asked for a phase of a candidate to be done again. Part of the input key.

The objects are `candidates/<id>/retries/<phase>/<n>.json`, n from 1.
"""

import json
import secrets
from datetime import UTC, datetime

from blocks.lake.store import ObjectStore
from blocks.records import Phase


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
        mark = {"asked_at": datetime.now(UTC).isoformat(), "nonce": secrets.token_hex(16)}
        if store.put_if_absent(f"{_folder(candidate_id, phase)}{number}.json", json.dumps(mark).encode()):
            return number


def _folder(candidate_id: str, phase: Phase) -> str:
    return f"candidates/{candidate_id}/retries/{phase}/"
