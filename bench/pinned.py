"""A candidate whose outcome is known: ingest and qualify are committed by hand, so that building can be looked at alone."""

import hashlib
from datetime import UTC, datetime

from blocks.chain import Chain
from blocks.lake import Manifest, PhaseKey, PhaseWriter, commit_phase, find_manifest
from blocks.lake.commit import input_key
from blocks.phases import expected_key
from blocks.records import CandidateRow, Outcome, OutcomeRow, Phase, ReasonCode, Row
from blocks.session import Intervention, Session, Speaker, Step
from blocks.workshop import Workshop
from tasks.qualify.phase import QUALIFY

VERSION = 1


def pin(workshop: Workshop, repository: str, start: str, end: str, instruction: str) -> Chain:
    """The chain of a candidate, up to a qualify that was decided by hand; a second time it gives the same chain."""
    digest = hashlib.sha256(f"{repository} {start} {end}".encode()).hexdigest()[:16]
    candidate = CandidateRow(
        candidate_id=f"c-{digest}",
        contribution_id=f"x-{digest}",
        source="pinned",
        repository=repository,
        start_commit=start,
        start_fidelity=1.0,
        instruction=instruction,
        language=None,
        created_at=datetime.now(UTC),
    )
    step = Step(index=0, speaker=Speaker.USER, text=instruction, intervention=Intervention.PROMPT)
    session = Session(
        source="pinned",
        session_id=f"s-{digest}",
        repository=repository,
        start_commit=start,
        start_evidence="named by the corpus",
        steps=(step,),
    )
    outcome = OutcomeRow(
        candidate_id=candidate.candidate_id,
        rank=1,
        commit=end,
        score=1.0,
        overlap=1.0,
        touches_tests=True,
        evidence='{"named by": "the corpus"}',
    )
    chain = Chain(workshop.store, candidate.candidate_id)
    key = input_key(Phase.INGEST, VERSION, digest, None)
    chain = _commit(chain, chain.key(Phase.INGEST, key, None), [candidate], session)
    return _commit(chain, expected_key(QUALIFY, workshop.settings, chain, key), [outcome], None)


def _commit(chain: Chain, key: PhaseKey, rows: list[Row], session: Session | None) -> Chain:
    committed = find_manifest(chain.store, key)
    return chain.with_manifest(committed or _write(chain, key, rows, session))


def _write(chain: Chain, key: PhaseKey, rows: list[Row], session: Session | None) -> Manifest:
    writer = PhaseWriter(chain.store, key)
    writer.rows(rows)
    if session is not None:
        writer.record("session.json", session)
    return commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "pinned by the corpus")
