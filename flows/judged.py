"""What qualify wrote about a candidate, read from the catalog or from a committed phase run."""

from pathlib import Path
from typing import TypeVar

from blocks.catalog import query
from blocks.chain import Chain, load_upstream
from blocks.lake import PhaseKey, find_manifest
from blocks.records import CandidateRow, OutcomeRow, Phase, RequirementRow, Row, VerdictRow
from blocks.workshop import Workshop
from flows.verdict_page import Judged

AnyRow = TypeVar("AnyRow", bound=Row)


def judged_in_catalog(catalog: Path, candidate_id: str) -> Judged | None:
    """From the catalog; None where qualify has not judged the candidate. `candidate_id` must be one of the catalog's."""
    candidates = _rows(catalog, CandidateRow, candidate_id)
    verdicts = _rows(catalog, VerdictRow, candidate_id)
    if not candidates or not verdicts:
        return None
    asked = f"SELECT status FROM candidates WHERE candidate_id = '{candidate_id}'"
    told = f"SELECT message FROM phase_runs WHERE candidate_id = '{candidate_id}' AND phase = 'qualify' ORDER BY started_at DESC"
    messages = query(catalog, told).rows
    return Judged(
        candidate=candidates[0],
        status=str(query(catalog, asked).rows[0][0]),
        message=str(messages[0][0]) if messages else "",
        verdicts=verdicts,
        outcomes=_rows(catalog, OutcomeRow, candidate_id),
        requirements=_rows(catalog, RequirementRow, candidate_id),
    )


def judged_in_run(workshop: Workshop, key: PhaseKey) -> Judged | None:
    """From a committed run of qualify; None where there is none."""
    manifest = find_manifest(workshop.store, key)
    if manifest is None:
        return None
    chain: Chain = load_upstream(workshop.store, key).with_manifest(manifest)
    return Judged(
        candidate=chain.candidate(),
        status=f"qualify: {manifest.outcome}",
        message=manifest.message,
        verdicts=chain.rows(Phase.QUALIFY, VerdictRow),
        outcomes=chain.rows(Phase.QUALIFY, OutcomeRow),
        requirements=chain.rows(Phase.QUALIFY, RequirementRow),
    )


def _rows(catalog: Path, kind: type[AnyRow], candidate_id: str) -> list[AnyRow]:
    names = list(kind.model_fields)
    columns = ", ".join(f'"{name}"' for name in names)
    found = query(catalog, f"SELECT {columns} FROM {kind.table} WHERE candidate_id = '{candidate_id}'").rows
    defaults = {name for name, field in kind.model_fields.items() if not field.is_required()}
    pairs = [dict(zip(names, row, strict=True)) for row in found]
    return [
        kind.model_validate({name: value for name, value in row.items() if value is not None or name not in defaults})
        for row in pairs
    ]
