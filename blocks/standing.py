"""Where every candidate stands, asked of the catalog at once: expected keys minus committed ones is what is pending.

The lake is the truth. What the catalog does not know yet looks pending here, and is then looked at there; so the catalog is
brought up to date first.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from blocks.catalog import open_catalog
from blocks.chain import Chain
from blocks.lake import ObjectStore, PhaseKey
from blocks.phases import PhaseDefinition, PhaseResult, expected_key
from blocks.records import CandidateRow, Outcome, Phase
from blocks.settings import Settings

_CANDIDATES = """
SELECT {columns}, c.input_key, c.outcome, c.reason_code, c.message
FROM history.candidates r JOIN history.current c ON c.manifest = r.manifest
WHERE r.candidate_id NOT IN (SELECT id FROM history.tombstones)
  AND r.contribution_id NOT IN (SELECT id FROM history.tombstones)
ORDER BY r.created_at, r.candidate_id
"""
_COMMITTED = """
SELECT candidate_id, phase, input_key, outcome, reason_code, message FROM history.manifests
WHERE scope = 'candidates' AND phase <> 'ingest'
"""
_RETRIES = "SELECT candidate_id, phase, max(attempt) FROM history.retries GROUP BY ALL"

_Run = tuple[str, Phase, str]
"""Candidate, phase, input key."""


@dataclass(frozen=True)
class Standing:
    """How far one candidate has come under the keys now expected."""

    candidate: CandidateRow
    results: tuple[PhaseResult, ...]
    """Of its committed phases, in their order, from ingest on."""
    keys: tuple[PhaseKey, ...]
    """Of the same, after ingest."""
    is_pending: bool
    """Whether a next phase is to be run; else it has come to its end."""


@dataclass(frozen=True)
class _KnownChain(Chain):
    """A chain whose candidate is known, so that the store is not asked."""

    known: CandidateRow | None = None

    def candidate(self) -> CandidateRow:
        return self.known or super().candidate()


@dataclass(frozen=True)
class _Catalog:
    committed: dict[_Run, tuple[str, str, str]]
    retries: dict[tuple[str, Phase], int]


def standings(
    catalog: Path,
    store: ObjectStore,
    settings: Settings,
    definitions: Sequence[PhaseDefinition],
    only: Collection[str] = (),
) -> list[Standing]:
    """Every candidate that is not withdrawn, oldest first; with `only`, those of them.

    Raises:
        UsageError, PermanentError: as `open_catalog`.
    """
    columns = ", ".join(f"r.{name}" for name in CandidateRow.model_fields)
    with open_catalog(catalog) as connection:
        rows = connection.execute(_CANDIDATES.format(columns=columns)).fetchall()
        known = _read(connection)
    count = len(CandidateRow.model_fields)
    found = []
    for row in rows:
        candidate = CandidateRow.model_validate(dict(zip(CandidateRow.model_fields, row[:count], strict=True)))
        if not only or candidate.candidate_id in only:
            chain = _KnownChain(store, candidate.candidate_id, known=candidate)
            found.append(_walk(chain, candidate, row[count:], known, settings, definitions))
    return found


def _read(connection: duckdb.DuckDBPyConnection) -> _Catalog:
    committed = connection.execute(_COMMITTED).fetchall()
    retries = connection.execute(_RETRIES).fetchall()
    return _Catalog(
        {(row[0], Phase(row[1]), row[2]): (row[3], row[4], row[5]) for row in committed},
        {(row[0], Phase(row[1])): int(row[2]) for row in retries},
    )


def _walk(
    chain: Chain,
    candidate: CandidateRow,
    ingested: tuple[str, str, str, str],
    known: _Catalog,
    settings: Settings,
    definitions: Sequence[PhaseDefinition],
) -> Standing:
    name = candidate.candidate_id
    results = [_result(name, Phase.INGEST, ingested[0], ingested[1:])]
    keys: list[PhaseKey] = []
    for definition in definitions:
        if results[-1].outcome is not Outcome.PASSED:
            break
        attempt = known.retries.get((name, definition.phase), 0)
        key = expected_key(definition, settings, chain, results[-1].input_key, attempt)
        ended = known.committed.get((name, definition.phase, key.input_key))
        if ended is None:
            return Standing(candidate, tuple(results), tuple(keys), is_pending=True)
        results.append(_result(name, definition.phase, key.input_key, ended))
        keys.append(key)
    return Standing(candidate, tuple(results), tuple(keys), is_pending=False)


def _result(candidate_id: str, phase: Phase, input_key: str, ended: tuple[str, str, str]) -> PhaseResult:
    outcome, reason_code, message = ended
    return PhaseResult.model_validate(
        {
            "candidate_id": candidate_id,
            "phase": phase,
            "input_key": input_key,
            "outcome": outcome,
            "reason_code": reason_code,
            "message": message,
            "reused": True,
        }
    )
