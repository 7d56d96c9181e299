"""One phase run from its key to its commit: reuse, else do and commit; an infrastructure failure commits nothing."""

import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from types import TracebackType

from blocks.chain import Chain, load_upstream
from blocks.errors import EnvmillError, PermanentError
from blocks.lake import Lease, Manifest, Owner, PhaseKey, PhaseWriter, acquire_lease, commit_phase, find_manifest
from blocks.lake.commit import record_crash
from blocks.phases import Decision, PhaseDefinition, PhaseResult, result_of
from blocks.workshop import Workshop

LEASE_SEC = 600
"""How long a lease holds unless it is renewed; a dead owner's is taken over at once on the same machine."""


_held: ContextVar[Lease | None] = ContextVar("held_lease", default=None)


def hold(workshop: Workshop, key: PhaseKey) -> Lease:
    """The lease of a phase run; the same flow run may ask for it again.

    Raises:
        LeaseHeldError: another worker does it right now.
    """
    return acquire_lease(workshop.store, key.input_key, owner=Owner.current(workshop.flow_run_id), ttl_sec=LEASE_SEC)


@contextmanager
def under(lease: Lease) -> Iterator[None]:
    """What is performed within, also in tasks and threads that begin there, writes only while the lease is not lost."""
    mark = _held.set(lease)
    try:
        yield
    finally:
        _held.reset(mark)


def writer_of(workshop: Workshop, key: PhaseKey, started_at: datetime | None = None) -> PhaseWriter:
    """Writes for a phase run, under the lease that is held here, where one is: also for a part of the phase on its own."""
    return PhaseWriter(workshop.store, key, workshop.flow_run_id, started_at, _held.get())


def perform(definition: PhaseDefinition, key: PhaseKey, workshop: Workshop) -> PhaseResult:
    """Do the phase's work and commit it; the caller holds the lease.

    Raises:
        EnvmillError: an infrastructure failure; it is left as a row of `phase_runs`, and the next run tries again.
    """
    return perform_with(key, workshop, lambda chain, writer: definition.run(workshop, chain, writer))


def perform_with(
    key: PhaseKey,
    workshop: Workshop,
    work: Callable[[Chain, PhaseWriter], Decision],
    started_at: datetime | None = None,
) -> PhaseResult:
    """As `perform`, with the work given: for phases whose parts ran as tasks of their own, from `started_at` on."""
    committed = find_manifest(workshop.store, key)
    if committed is not None:
        return result_of(committed, reused=True)
    writer = writer_of(workshop, key, started_at)
    writer.expect_held()
    with CrashRow(writer):
        manifest = _done(key, workshop, work, writer)
    return result_of(manifest, reused=False)


def _done(
    key: PhaseKey, workshop: Workshop, work: Callable[[Chain, PhaseWriter], Decision], writer: PhaseWriter
) -> Manifest:
    """The boundary where the text of unexpected errors ends: it may hold what came from a session, and Prefect keeps it."""
    try:
        decision = work(load_upstream(workshop.store, key), writer)
        return commit_phase(writer, decision.outcome, decision.reason_code, decision.message)
    except EnvmillError:
        raise
    except Exception as error:  # noqa: BLE001 - named boundary, see above
        fault = unexpected(key, error)
    raise fault


def unexpected(key: PhaseKey, error: Exception) -> PermanentError:
    """What is told of an error nobody expected: its type and where it came from, nothing of its text."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    way = " < ".join(f"{Path(place.filename).name}:{place.lineno}" for place in reversed(places))
    said = f"{type(error).__name__} at {way}"
    return PermanentError(f"{key.candidate_id} {key.phase}: {said}; this is a fault of envmill, please report it")


class CrashRow(AbstractContextManager["CrashRow"]):
    """Leaves a crash row when the body raises, and lets the error through."""

    def __init__(self, writer: PhaseWriter) -> None:
        self.writer = writer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record what was raised; where the store that failed cannot take the row either, what was raised is enough."""
        if isinstance(error, EnvmillError):
            with suppress(EnvmillError):
                record_crash(self.writer, str(error)[:2000])
