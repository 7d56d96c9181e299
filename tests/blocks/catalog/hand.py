"""Phase runs made by hand, with the rows the real phases would write."""

from datetime import UTC, datetime
from typing import TypeVar

from blocks.lake import Manifest, ObjectStore, PhaseKey, PhaseWriter, commit_phase
from blocks.lake.commit import input_key
from blocks.records import (
    CandidateRow,
    ContributionRow,
    CostRow,
    Decision,
    EnvironmentRow,
    ObstacleRow,
    Outcome,
    Phase,
    Qualifier,
    ReasonCode,
    ReconstructionRow,
    RedactionRow,
    ReleaseMemberRow,
    RolloutRow,
    Row,
    TestResultRow,
    TestRunRow,
    VerdictRow,
    VerifierRow,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
AnyRow = TypeVar("AnyRow", bound=Row)


def row(kind: type[AnyRow], /, **values: object) -> AnyRow:
    """A row with something harmless in every field that is not given."""
    blanks: dict[object, object] = {str: "x", int: 0, float: 0.0, bool: True, datetime: NOON}
    given = {name: blanks.get(field.annotation) for name, field in kind.model_fields.items()}
    if "evidence" in given:
        given["evidence"] = '{"seen": 1}'
    return kind.model_validate(
        given | {"reason_code": ReasonCode.OK} | values if "reason_code" in given else given | values
    )


def refuse(store: ObjectStore, contribution_id: str, reason: ReasonCode = ReasonCode.CONSENT_MISSING) -> Manifest:
    return contribute(store, contribution_id, reason)


def contribute(store: ObjectStore, contribution_id: str, reason: ReasonCode = ReasonCode.OK) -> Manifest:
    key = PhaseKey(
        candidate_id=contribution_id,
        phase=Phase.INGEST,
        input_key=input_key(Phase.INGEST, 1, contribution_id, None),
        scope="contributions",
    )
    writer = PhaseWriter(store, key)
    accepted = reason is ReasonCode.OK
    writer.rows(
        [
            row(
                ContributionRow,
                contribution_id=contribution_id,
                accepted=accepted,
                reason_code=reason,
                candidates=int(accepted),
            )
        ]
    )
    return commit_phase(writer, Outcome.PASSED if accepted else Outcome.REJECTED, reason, "said so")


def walk(
    store: ObjectStore,
    candidate_id: str,
    until: Phase,
    outcome: Outcome = Outcome.PASSED,
    reason: ReasonCode = ReasonCode.OK,
    *,
    attempt: int = 0,
) -> list[Manifest]:
    """Take a candidate through the phases up to `until`, which ends with `outcome`; those before pass."""
    manifests: list[Manifest] = []
    for phase in Phase:
        last = phase is until
        upstream = manifests[-1].key.input_key if manifests else None
        manifests.append(
            run(
                store,
                candidate_id,
                phase,
                upstream,
                *((outcome, reason) if last else (Outcome.PASSED, ReasonCode.OK)),
                attempt,
            )
        )
        if last:
            return manifests
    return manifests


def five_writes(store: ObjectStore) -> None:
    """A phase run of two Parquet files, an object, the pointer and the manifest, in this order."""
    writer = PhaseWriter(store, PhaseKey(candidate_id="a", phase=Phase.INGEST, input_key="k"))
    writer.rows([row(CandidateRow, candidate_id="a")])
    writer.rows([row(RedactionRow, candidate_id="a")])
    writer.object("session.json", b"{}")
    commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "")


def run(
    store: ObjectStore,
    candidate_id: str,
    phase: Phase,
    upstream: str | None,
    outcome: Outcome,
    reason: ReasonCode,
    attempt: int = 0,
) -> Manifest:
    key = PhaseKey(
        candidate_id=candidate_id,
        phase=phase,
        input_key=input_key(phase, 1, upstream, None, attempt),
        upstream_key=upstream,
    )
    writer = PhaseWriter(store, key, flow_run_id=f"flow-{candidate_id}-{phase}")
    for rows in phase_rows(store, key, outcome, reason):
        writer.rows(rows)
    writer.rows([row(CostRow, candidate_id=candidate_id, phase=phase, kind="cpu_seconds", value=2.0)])
    return commit_phase(writer, outcome, reason, f"{phase} {outcome}")


def phase_rows(store: ObjectStore, key: PhaseKey, outcome: Outcome, reason: ReasonCode) -> list[list[Row]]:
    """What the phase would write for this candidate, one list per table."""
    who = key.candidate_id
    passed = outcome is Outcome.PASSED
    if key.phase is Phase.INGEST:
        return [[row(CandidateRow, candidate_id=who, contribution_id=f"of-{who}", instruction=f"mend {who}")]]
    if key.phase is Phase.QUALIFY:
        decision = Decision.PASS if passed else Decision.FAIL
        return [
            [
                row(VerdictRow, candidate_id=who, qualifier=Qualifier.ORIGIN, decision=Decision.PASS),
                row(VerdictRow, candidate_id=who, qualifier=Qualifier.OUTCOME, decision=decision, reason_code=reason),
            ]
        ]
    if key.phase is Phase.ARCHAEOLOGY:
        return [
            [
                row(
                    ReconstructionRow,
                    candidate_id=who,
                    stack="python",
                    status=outcome,
                    reason_code=reason,
                    insertions=7,
                )
            ],
            [
                row(ObstacleRow, candidate_id=who, phase=key.phase, attempt=1, symptom="first", resolved=True),
                row(ObstacleRow, candidate_id=who, phase=key.phase, attempt=2, symptom="second", resolved=passed),
            ],
        ]
    if key.phase is Phase.CONTAINERIZE:
        uri = store.uri(key.prefix + "log.txt")
        return [[row(EnvironmentRow, candidate_id=who, environment_id=f"e-{who}", status=outcome, log_uri=uri)]]
    if key.phase is Phase.SYNTHESIS:
        status = "admitted" if passed else "rejected"
        card = {"nop_reward": 0.0 if passed else 1.0, "oracle_reward": 1.0, "repeats": 3, "status": status}
        return [
            [row(VerifierRow, candidate_id=who, environment_id=f"e-{who}", verifier_id=f"v-{who}", **card)],
            [row(TestRunRow, verifier_id=f"v-{who}", run="nop-1", kind="nop")],
            [row(TestResultRow, verifier_id=f"v-{who}", run="nop-1", test_id=f"t{n}") for n in range(3)],
        ]
    if key.phase is Phase.CAPTURE:
        common = {"candidate_id": who, "environment_id": f"e-{who}"}
        return [
            [
                row(RolloutRow, **common, rollout_id=f"{who}-nop", agent="nop", reward=0.0),
                row(
                    RolloutRow,
                    **common,
                    rollout_id=f"{who}-m1",
                    agent="a",
                    model="m",
                    reward=1.0,
                    cost_usd=0.5,
                    tokens=9,
                ),
                row(RolloutRow, **common, rollout_id=f"{who}-m2", agent="a", model="m", reward=0.0),
                row(RolloutRow, **common, rollout_id=f"{who}-m3", agent="a", model="m", reward=None),
            ]
        ]
    return [[row(ReleaseMemberRow, candidate_id=who, environment_id=f"e-{who}", version="2026.1")]]
