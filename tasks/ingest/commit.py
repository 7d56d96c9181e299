"""Writes what ingest decided: candidates first, the contribution's manifest last, which makes it count."""

from datetime import UTC, datetime

from blocks.errors import PermanentError
from blocks.lake import Manifest, ObjectStore, PhaseKey, PhaseWriter, commit_phase, find_manifest
from blocks.lake.commit import input_key, record_crash
from blocks.records import ContributionRow, Outcome, Phase, ReasonCode, Record
from tasks.ingest.inbox import InboxItem
from tasks.ingest.result import Candidate, IngestResult, Refusal

VERSION = 1
"""Raise it when parsing or redaction changes what is stored."""

SESSION = "session.json"
INSTRUCTION = "instruction.md"


class IngestCommit(Record):
    """The manifests of one contribution."""

    contribution: Manifest
    candidates: tuple[Manifest, ...]


def contribution_key(item: InboxItem) -> PhaseKey:
    """The key of a contribution's ingest run."""
    return PhaseKey(
        candidate_id=item.contribution_id,
        phase=Phase.INGEST,
        input_key=input_key(Phase.INGEST, VERSION, item.content_hash, None),
        scope="contributions",
    )


def candidate_key(item: InboxItem, candidate_id: str) -> PhaseKey:
    """The key of a candidate's ingest run."""
    return contribution_key(item).model_copy(update={"candidate_id": candidate_id, "scope": "candidates"})


def find_committed(store: ObjectStore, item: InboxItem) -> Manifest | None:
    """The contribution's manifest, where it was ingested already: then nothing of it needs to be read again."""
    return find_manifest(store, contribution_key(item))


def commit_contribution(
    store: ObjectStore, item: InboxItem, result: IngestResult, *, flow_run_id: str | None = None
) -> IngestCommit:
    """Write candidates, redaction counts and the contribution. Writing the same again returns what is committed.

    Raises:
        PermanentError: the scanner does not work; only a crash is recorded, so that the next run tries again.
    """
    writer = PhaseWriter(store, contribution_key(item), flow_run_id)
    broken = next((refusal for refusal in result.refusals if refusal.infrastructure), None)
    if broken is not None:
        record_crash(writer, broken.message)
        raise PermanentError(broken.message)
    manifests = tuple(_commit_candidate(store, item, candidate, flow_run_id) for candidate in result.candidates)
    committed = find_committed(store, item)
    if committed is not None:
        return IngestCommit(contribution=committed, candidates=manifests)
    reason = ReasonCode.OK if result.candidates else _reason(result.refusals)
    message = _message(result)
    writer.rows(
        [
            ContributionRow(
                contribution_id=item.contribution_id,
                source=result.source,
                accepted=bool(result.candidates),
                reason_code=reason,
                message=message,
                candidates=len(result.candidates),
                created_at=datetime.now(UTC),
            )
        ]
    )
    outcome = Outcome.PASSED if result.candidates else Outcome.REJECTED
    return IngestCommit(contribution=commit_phase(writer, outcome, reason, message), candidates=manifests)


def _commit_candidate(store: ObjectStore, item: InboxItem, candidate: Candidate, flow_run_id: str | None) -> Manifest:
    key = candidate_key(item, candidate.row.candidate_id)
    committed = find_manifest(store, key)
    if committed is not None:
        return committed
    writer = PhaseWriter(store, key, flow_run_id)
    writer.rows([candidate.row])
    writer.rows(candidate.redactions)
    writer.record(SESSION, candidate.session)
    writer.object(INSTRUCTION, candidate.row.instruction.rstrip() + "\n")
    replaced = sum(row.count for row in candidate.redactions)
    return commit_phase(
        writer, Outcome.PASSED, ReasonCode.OK, f"{len(candidate.session.steps)} steps, {replaced} redactions"
    )


def _reason(refusals: tuple[Refusal, ...]) -> ReasonCode:
    return refusals[0].reason_code if refusals else ReasonCode.FOLDER_EMPTY


def _message(result: IngestResult) -> str:
    taken = f"{len(result.candidates)} taken" if result.candidates else ""
    refused = [
        f"session {refusal.session_id} refused ({refusal.reason_code}): {refusal.message}"
        if refusal.session_id
        else refusal.message
        for refusal in result.refusals
    ]
    return "; ".join(part for part in [taken, *refused] if part)
