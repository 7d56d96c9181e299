"""Leases keep two workers from doing the same work. They save work; correctness rests on the commit alone.

The object `leases/<input_key>.json` is written by put_if_absent the first time and by put_if_match ever after, also when
it is released: so that a lease that was taken over cannot be changed by its old owner.
"""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock
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
        self, store: ObjectStore, key: str, record: LeaseRecord, ttl_sec: float, now: Callable[[], datetime], etag: str
    ) -> None:
        self.store = store
        self.key = key
        self.owner = record.owner
        self.ttl_sec = ttl_sec
        self.is_lost = False
        """It was taken over: found out at a renewal, and true ever after."""
        self._now = now
        self._etag = etag
        self._nonces = {record.nonce}
        """Of the last write that is known to be there, and of those since then whose answer never came."""
        self._is_released = False
        self._writing = Lock()

    def renew(self) -> None:
        """Hold it for another `ttl_sec` from now.

        Raises:
            LeaseLostError: it was taken over or released.
        """
        if not self._rewrite(self._now() + timedelta(seconds=self.ttl_sec)):
            self.is_lost = True
            self.expect_held()

    def expect_held(self) -> None:
        """Raises LeaseLostError where a renewal has found that it is lost. Asks nobody."""
        if self.is_lost:
            raise LeaseLostError(f"{self.key}: another worker took the lease over; stop this work, it is theirs now")

    def release(self) -> bool:
        """Give it back. False where it was not ours any more; then nothing is changed."""
        return self._rewrite(self._now(), released=True)

    def __enter__(self) -> "Lease":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _rewrite(self, expires_at: datetime, *, released: bool = False) -> bool:
        """Write a record of ours over ours. Tried again where the answer to an earlier write was lost on its way."""
        with self._writing:
            for _ in range(_TRIES):
                if self._is_released:
                    return False
                record = LeaseRecord(
                    owner=self.owner, expires_at=expires_at, released=released, nonce=secrets.token_hex(16)
                )
                self._nonces.add(record.nonce)
                etag = _write(self.store, self.key, record, self._etag)
                if etag is not None:
                    self._etag, self._is_released, self._nonces = etag, released, {record.nonce}
                    return True
                if not self._finds_its_own():
                    return False
        raise TransientError(f"{self.key}: the store does not tell of our own writes ({_TRIES} tries); run again")

    def _finds_its_own(self) -> bool:
        """Whether what lies there is a write of ours that we never heard back from; its etag is then ours."""
        info, held = self.store.head(self.key), _read_lease(self.store, self.key)
        if info is None or held is None or held.nonce not in self._nonces:
            return False
        self._etag = info.etag
        return True


def acquire_lease(
    store: ObjectStore,
    input_key: str,
    *,
    owner: Owner | None = None,
    ttl_sec: float,
    now: Callable[[], datetime] = utc_now,
) -> Lease:
    """Take the lease of this work.

    A lease that was released, has expired, or whose owner is a dead process of this same host is taken over at once; so
    is one whose owner is the asker, process and flow run: it got the lease before, and did not hear so, or could not give
    it back.

    Args:
        store: where the lease lies.
        input_key: names the work.
        owner: who takes it; this process where not given. One that names a flow run may ask again.
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
            if not _is_free(held, holder, moment):
                raise LeaseHeldError(
                    f"{key}: held by {held.owner} until {held.expires_at:%Y-%m-%d %H:%M:%S} UTC; wait for it or end it"
                )
        etag = _write(store, key, wanted, info.etag if info else None)
        if etag is not None:
            return Lease(store, key, wanted, ttl_sec, now, etag)
    raise LeaseHeldError(f"{key}: other workers took it {_TRIES} times while it was asked for; run again")


def _is_free(held: LeaseRecord, asker: Owner, moment: datetime) -> bool:
    is_own = asker.flow_run_id is not None and held.owner == asker
    return held.released or held.expires_at <= moment or is_own or held.owner.is_dead()


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
