"""One phase run from its key to its commit: reuse, else do and commit; an infrastructure failure commits nothing."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from types import TracebackType

from blocks.chain import Chain, load_upstream
from blocks.errors import EnvmillError
from blocks.lake import Lease, Owner, PhaseKey, PhaseWriter, acquire_lease, commit_phase, find_manifest
from blocks.lake.commit import record_crash
from blocks.phases import Decision, PhaseDefinition, PhaseResult, result_of
from blocks.workshop import Workshop

LEASE_SEC = 600
"""How long a lease holds unless it is renewed; a dead owner's is taken over at once on the same machine."""


def hold(workshop: Workshop, key: PhaseKey) -> Lease:
    """The lease of a phase run. Raises LeaseHeldError where another worker does it right now."""
    return acquire_lease(workshop.store, key.input_key, owner=Owner.current(), ttl_sec=LEASE_SEC)


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
    writer = PhaseWriter(workshop.store, key, workshop.flow_run_id, started_at)
    with CrashRow(writer):
        decision = work(load_upstream(workshop.store, key), writer)
        manifest = commit_phase(writer, decision.outcome, decision.reason_code, decision.message)
    return result_of(manifest, reused=False)


class CrashRow(AbstractContextManager["CrashRow"]):
    """Leaves a crash row when the body raises, and lets the error through. Other errors than our own are named by type
    only: their text may hold what came from a session.
    """

    def __init__(self, writer: PhaseWriter) -> None:
        self.writer = writer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record what was raised."""
        if error is not None and isinstance(error, Exception):
            said = str(error) if isinstance(error, EnvmillError) else type(error).__name__
            record_crash(self.writer, said[:2000])
