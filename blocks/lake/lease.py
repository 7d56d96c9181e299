"""Leases keep two workers from doing the same work. They save work; correctness rests on the commit alone.

The object `leases/<input_key>.json` is written by put_if_absent the first time and by put_if_match ever after, also when
it is released: so that a lease that was taken over cannot be changed by its old owner.
"""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType

from pydantic import ValidationError

from blocks.errors import PermanentError, TransientError
from blocks.lake.store import ObjectMissingError, ObjectStore
from blocks.owner import Owner
from blocks.records import Record

_TRIES = 8


class LeaseHeldError(TransientError):
    """Another worker does this right now; names it."""


class LeaseLostError(TransientError):
    """The lease was taken over; what was done under it must not go on."""


class LeaseRecord(Record):
    """What the object holds."""

    owner: Owner
    expires_at: datetime
    released: bool = False
    nonce: str
    """New with every write, so that no two contents are alike."""


def utc_now() -> datetime:
    """The clock leases go by where no other is given."""
    return datetime.now(UTC)


class Lease:
    """A lease that is held. As a context manager it is released at the end."""

    def __init__(
        self, store: ObjectStore, key: str, owner: Owner, ttl_sec: float, now: Callable[[], datetime], etag: str
    ) -> None:
        self.store = store
        self.key = key
        self.owner = owner
        self.ttl_sec = ttl_sec
        self._now = now
        self._etag = etag

    def renew(self) -> None:
        """Hold it for another `ttl_sec` from now.

        Raises:
            LeaseLostError: it was taken over or released.
        """
        etag = _write(self.store, self.key, self._record(self._now() + timedelta(seconds=self.ttl_sec)), self._etag)
        if etag is None:
            raise LeaseLostError(f"{self.key}: another worker took the lease over; stop this work, it is theirs now")
        self._etag = etag

    def release(self) -> bool:
        """Give it back. False where it was not ours any more; then nothing is changed."""
        return _write(self.store, self.key, self._record(self._now(), released=True), self._etag) is not None

    def __enter__(self) -> "Lease":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _record(self, expires_at: datetime, *, released: bool = False) -> LeaseRecord:
        return LeaseRecord(owner=self.owner, expires_at=expires_at, released=released, nonce=secrets.token_hex(16))


def acquire_lease(
    store: ObjectStore,
    input_key: str,
    *,
    owner: Owner | None = None,
    ttl_sec: float,
    now: Callable[[], datetime] = utc_now,
) -> Lease:
    """Take the lease of this work.

    A lease that was released, has expired, or whose owner is a dead process of this same host is taken over at once.

    Args:
        store: where the lease lies.
        input_key: names the work.
        owner: who takes it; this process where not given.
        ttl_sec: how long it holds unless renewed.
        now: the clock.

    Raises:
        LeaseHeldError: somebody else holds it; names the holder and the time it ends.
        PermanentError: the object is not a lease.
    """
    holder = owner or Owner.current()
    key = f"leases/{input_key}.json"
    for _ in range(_TRIES):
        moment = now()
        wanted = LeaseRecord(owner=holder, expires_at=moment + timedelta(seconds=ttl_sec), nonce=secrets.token_hex(16))
        info = store.head(key)
        if info is not None:
            # The content is read after the etag: where it changed in between, put_if_match refuses and we look again.
            held = _read_lease(store, key)
            if held is None:
                continue
            if not (held.released or held.expires_at <= moment or held.owner.is_dead()):
                raise LeaseHeldError(
                    f"{key}: held by {held.owner} until {held.expires_at:%Y-%m-%d %H:%M:%S} UTC; wait for it or end it"
                )
        etag = _write(store, key, wanted, info.etag if info else None)
        if etag is not None:
            return Lease(store, key, holder, ttl_sec, now, etag)
    raise LeaseHeldError(f"{key}: other workers took it {_TRIES} times while it was asked for; run again")


def _write(store: ObjectStore, key: str, record: LeaseRecord, etag: str | None) -> str | None:
    """Write if nothing has changed; the new etag, or None where it has (or was taken over right after)."""
    content = record.model_dump_json().encode()
    written = store.put_if_absent(key, content) if etag is None else store.put_if_match(key, content, etag)
    if not written:
        return None
    # etag first, content second: nobody but us can bring our nonce back, so seeing it means that the etag is ours too.
    info = store.head(key)
    now_there = _read_lease(store, key)
    return info.etag if info is not None and now_there == record else None


def _read_lease(store: ObjectStore, key: str) -> LeaseRecord | None:
    try:
        return LeaseRecord.model_validate_json(store.get(key))
    except ObjectMissingError:
        return None
    except ValidationError as error:
        raise PermanentError(f"{key}: this is not a lease; delete the object") from error
