"""Leases: held, expired, released, taken over from the dead."""

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from blocks.errors import PermanentError, TransientError
from blocks.lake import LeaseHeldError, LeaseLostError, ObjectStore, Owner, acquire_lease
from blocks.lake.file import FileStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OTHER = Owner(host="elsewhere", boot_id="b", pid_namespace="p", pid=7, start_ticks=1)


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_held_then_expired_then_the_old_owner_can_do_nothing(store: ObjectStore) -> None:
    first = acquire_lease(store, "k", owner=OTHER, ttl_sec=60, now=lambda: NOON)
    with pytest.raises(LeaseHeldError, match=r"process 7 on machine elsewhere until 2026-01-01 12:01:00 UTC"):
        acquire_lease(store, "k", ttl_sec=60, now=lambda: later(59))
    first._now = lambda: later(59)
    first.renew()
    with pytest.raises(LeaseHeldError):
        acquire_lease(store, "k", ttl_sec=60, now=lambda: later(61))
    second = acquire_lease(store, "k", ttl_sec=60, now=lambda: later(120))
    with pytest.raises(LeaseLostError):
        first.renew()
    assert first.release() is False
    second.renew()
    assert second.release() is True
    assert second.release() is False
    with acquire_lease(store, "k", owner=OTHER, ttl_sec=60, now=lambda: later(121)):
        pass
    acquire_lease(store, "k", ttl_sec=60, now=lambda: later(122))


class Deaf:
    """A store whose answers to conditional writes get lost, as often as asked: the write is there, and nobody knows."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self.losing = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def put_if_absent(self, key: str, content: bytes) -> bool:
        return self._lost(self._store.put_if_absent(key, content))

    def put_if_match(self, key: str, content: bytes, etag: str) -> bool:
        return self._lost(self._store.put_if_match(key, content, etag))

    def _lost(self, written: bool) -> bool:
        if self.losing:
            self.losing -= 1
            raise TransientError("the connection broke; run again")
        return written


def test_a_write_whose_answer_was_lost_is_known_again(store: ObjectStore) -> None:
    deaf = Deaf(store)
    ours, others = (Owner.current(flow_run) for flow_run in ("run-1", "run-2"))
    deaf.losing = 1
    with pytest.raises(TransientError):
        acquire_lease(deaf, "k", owner=ours, ttl_sec=60)
    with pytest.raises(LeaseHeldError):
        acquire_lease(deaf, "k", owner=others, ttl_sec=60)
    lease = acquire_lease(deaf, "k", owner=ours, ttl_sec=60)
    for change in (lease.renew, lease.renew, lease.release):
        deaf.losing = 2
        for _ in range(2):
            with pytest.raises(TransientError, match="connection broke"):
                change()
        assert change() in (None, True)
    assert not lease.is_lost
    assert lease.release() is False, "given back once"
    later_one = acquire_lease(deaf, "k", owner=others, ttl_sec=60)
    with pytest.raises(LeaseLostError):
        lease.renew()
    assert lease.is_lost and not later_one.is_lost
    with pytest.raises(LeaseHeldError):
        acquire_lease(store, "k", owner=Owner.current(), ttl_sec=60)


def test_leases_of_different_work_do_not_meet(store: ObjectStore) -> None:
    with acquire_lease(store, "a", ttl_sec=60), acquire_lease(store, "b", ttl_sec=60):
        assert len(list(store.list("leases/"))) == 2


def test_what_is_no_lease_is_said(store: ObjectStore) -> None:
    store.put("leases/k.json", b"{")
    with pytest.raises(PermanentError, match=r"leases/k\.json"):
        acquire_lease(store, "k", ttl_sec=60)


def test_a_killed_process_on_this_host_loses_its_lease_at_once(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from blocks.lake import acquire_lease
from blocks.lake.file import FileStore
acquire_lease(FileStore(Path(sys.argv[1])), "k", ttl_sec=3600)
print("held", flush=True)
time.sleep(600)
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=Path(__file__).parents[3], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        store = FileStore(tmp_path)
        with pytest.raises(LeaseHeldError, match=f"process {holder.pid}"):
            acquire_lease(store, "k", ttl_sec=60)
        # Not reaped: a zombie holds nothing either.
        holder.send_signal(signal.SIGKILL)
        while Path(f"/proc/{holder.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            pass
        acquire_lease(store, "k", ttl_sec=60).release()
    finally:
        holder.kill()
        holder.wait()


def test_only_what_is_certain_counts_as_dead() -> None:
    here = Owner.current()
    assert not here.is_dead()
    assert here.model_copy(update={"start_ticks": here.start_ticks - 1}).is_dead()
    for field in ("host", "boot_id", "pid_namespace"):
        assert not here.model_copy(update={field: "other", "pid": 2**22 + 1}).is_dead()
    assert here.model_copy(update={"pid": 2**22 + 1}).is_dead()
