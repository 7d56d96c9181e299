"""The rows of the catalog: frozen records, from which Arrow schema and table DDL are derived (blocks/schema.py).

Adding a column is one line here. A field that old files lack is read as null. Columns marked `volatile` differ between
two runs of the same work and are left out when catalogs are compared.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Volatile:
    """Marks a column that two runs of the same work may fill differently (times, seconds, run and image ids, costs)."""


class JsonText:
    """Marks a text column that holds one JSON document."""


VOLATILE = Volatile()
JSON = JsonText()


class Record(BaseModel):
    """A frozen value that crosses a boundary. Unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(Record):
    """A record that is a row of a catalog table."""

    table: ClassVar[str]


class Phase(StrEnum):
    """The phases in the order of the flow of data."""

    INGEST = "ingest"
    QUALIFY = "qualify"
    ARCHAEOLOGY = "archaeology"
    CONTAINERIZE = "containerize"
    SYNTHESIS = "synthesis"
    CAPTURE = "capture"
    PUBLISH = "publish"


class Outcome(StrEnum):
    """How a phase ended for one candidate. All of them commit; only `passed` lets the next phase begin."""

    PASSED = "passed"
    REJECTED = "rejected"
    """A domain decision against the candidate: the Prefect run is Completed."""
    FAILED = "failed"
    """A build that could not be made to work: the Prefect run is Failed and carries artifacts."""
    REVIEW = "review"
    NEEDS_MODEL = "needs_model"


class Qualifier(StrEnum):
    """The four qualifiers."""

    ORIGIN = "origin"
    JOURNEY = "journey"
    OUTCOME = "outcome"
    DISQUALIFIER = "disqualifier"


class Decision(StrEnum):
    """A qualifier's decision."""

    PASS = "pass"
    FAIL = "fail"
    UNSURE = "unsure"


class ReasonCode(StrEnum):
    """Why a candidate or contribution fell out, or what a verdict rests on. Closed, so that the funnel can be counted."""

    OK = "ok"
    # ingest
    CONSENT_MISSING = "consent_missing"
    CONSENT_INVALID = "consent_invalid"
    CONSENT_EXPIRED = "consent_expired"
    CONSENT_MISMATCH = "consent_mismatch"
    FOLDER_EMPTY = "folder_empty"
    FILE_UNREADABLE = "file_unreadable"
    FORMAT_UNKNOWN = "format_unknown"
    PROMPT_EMPTY = "prompt_empty"
    REPOSITORY_UNKNOWN = "repository_unknown"
    START_COMMIT_UNKNOWN = "start_commit_unknown"
    SCANNER_FAILED = "scanner_failed"
    # qualify
    REPOSITORY_UNREACHABLE = "repository_unreachable"
    COMMIT_NOT_FOUND = "commit_not_found"
    COMMIT_NOT_PUBLIC = "commit_not_public"
    LICENCE_MISSING = "licence_missing"
    LICENCE_NOT_ALLOWED = "licence_not_allowed"
    LICENCE_UNSURE = "licence_unsure"
    SESSION_MISMATCH = "session_mismatch"
    INTENT_UNCLEAR = "intent_unclear"
    OUTCOME_NOT_FOUND = "outcome_not_found"
    OUTCOME_AMBIGUOUS = "outcome_ambiguous"
    OUTCOME_REVERTED = "outcome_reverted"
    CHANGE_TRIVIAL = "change_trivial"
    CHANGE_TOO_LARGE = "change_too_large"
    CHANGE_NOT_SOURCE = "change_not_source"
    STEERING_TEXT = "steering_text"
    PROJECT_TOY = "project_toy"
    PROJECT_TOO_LARGE = "project_too_large"
    MOSTLY_GENERATED = "mostly_generated"
    NOT_IN_CONTAINER = "not_in_container"
    """It needs a screen, a device, a live or paid service, or secrets."""
    NOTHING_OBSERVABLE = "nothing_observable"
    KNOWN_BENCHMARK = "known_benchmark"
    DUPLICATE = "duplicate"
    REVIEWED_OUT = "reviewed_out"
    """A person turned it down."""
    MODEL_UNAVAILABLE = "model_unavailable"
    MODEL_NO_ANSWER = "model_no_answer"
    """Refused, not of the type, endless, too long, or not recorded."""
    MODEL_BUDGET = "model_budget"
    MODEL_UNCITED = "model_uncited"
    """Nothing the model cited is there."""
    # archaeology
    STACK_NOT_SUPPORTED = "stack_not_supported"
    RUNTIME_NOT_AVAILABLE = "runtime_not_available"
    TREE_UNSAFE = "tree_unsafe"
    DEPENDENCIES_UNRESOLVED = "dependencies_unresolved"
    INSTALL_FAILED = "install_failed"
    TESTS_NOT_COLLECTED = "tests_not_collected"
    TESTS_TIMED_OUT = "tests_timed_out"
    LIMIT_EXCEEDED = "limit_exceeded"
    OUTCOME_HAS_NO_TESTS = "outcome_has_no_tests"
    BUG_NOT_SEEN = "bug_not_seen"
    # containerize
    BUILD_FAILED = "build_failed"
    LEAK_FOUND = "leak_found"
    # synthesis
    NOP_PASSES = "nop_passes"
    ORACLE_FAILS = "oracle_fails"
    VERIFIER_FLAKY = "verifier_flaky"
    REGRESSION_EMPTY = "regression_empty"
    TESTS_USED_UP = "tests_used_up"
    SENTINELS_SILENT = "sentinels_silent"
    """No test that must fail shows in the runner: nothing would tell an honest run from one that always passes."""
    # capture
    REPLAY_PASSES = "replay_passes"
    ROLLOUT_DISAGREES = "rollout_disagrees"
    # publish
    WITHDRAWN = "withdrawn"


class FailureKind(StrEnum):
    """Why a test did not pass; told by exception type and phase, not by a pattern over the log."""

    ASSERTION = "assertion"
    WRONG_EXCEPTION = "wrong_exception"
    MISSING_NAME = "missing_name"
    IMPORT = "import"
    COLLECTION = "collection"
    COMPILE = "compile"
    """A source file or program that does not build, or a test that needs one."""
    SETUP = "setup"
    ERROR = "error"
    ABSENT = "absent"
    TIMEOUT = "timeout"


Seconds = Annotated[float, VOLATILE]
Moment = Annotated[datetime, VOLATILE]
JsonColumn = Annotated[str, JSON]


class ContributionRow(Row):
    """One item of the inbox and what became of it. Refused ones hold no content, only the reason."""

    table = "contributions"
    contribution_id: str
    source: str | None
    accepted: bool
    reason_code: ReasonCode
    message: str
    candidates: int
    created_at: Moment


class CandidateRow(Row):
    """The unit of work: a consented, redacted contribution pinned to repository, start commit and prompt."""

    table = "candidates"
    candidate_id: str
    contribution_id: str
    source: str
    repository: str
    """Public identity, e.g. https://github.com/owner/name."""
    start_commit: str
    start_fidelity: float | None
    """Share of the contents seen in the session that match the start as rebuilt, 0..1; 1.0 for a bare prompt; null where
    it has not been measured (the catalog's view takes it from the origin verdict)."""
    instruction: str
    language: str | None
    created_at: Moment
    consent_scopes: str = ""
    """What the contributor agreed to, sorted, with commas: evaluate, publish_environment, publish_trace, train."""


class RedactionRow(Row):
    """How often a rule replaced something in a contribution. Never a value."""

    table = "redactions"
    candidate_id: str
    rule: str
    count: int


class VerdictRow(Row):
    """One qualifier's decision on one candidate."""

    table = "verdicts"
    candidate_id: str
    qualifier: Qualifier
    decision: Decision
    reason_code: ReasonCode
    confidence: float
    judge: str
    """`rules`, or the provider of the model."""
    model: str | None
    evidence: JsonColumn
    cost_usd: Annotated[float, VOLATILE]
    seconds: Seconds


class RequirementRow(Row):
    """An item of the requirement ledger: what the user asked for, in their words."""

    table = "requirements"
    candidate_id: str
    item: int
    quote: str
    turn: int
    """Step of the session the quote stands in; 0 is the first message."""
    kind: str
    """explicit, implied or regression."""
    surface: str | None = None
    """Where it can be observed, e.g. `call:boil`, `option:--color`, `exception:ValueError`; null where none is named."""
    positive: str | None = None
    """Words of the user (or a line of the repository) that say what should happen."""
    negative: str | None = None
    """Words of the user that say what must not, or wrongly does."""
    precedent: str | None = None
    """`path:line` of the start commit, where the repository asks for it; `quote` is that line then."""
    added: bool = False
    """Whether only a later turn asks for it."""


class OutcomeRow(Row):
    """A commit that may have settled the user's problem, with how well it explains the session."""

    table = "outcomes"
    candidate_id: str
    rank: int
    commit: str
    score: float
    overlap: float
    """Share of the paths the session edited (or the prompt names) that the commit also touches, 0..1."""
    touches_tests: bool
    evidence: JsonColumn


class ReconstructionRow(Row):
    """The two states and how they were rebuilt."""

    table = "reconstructions"
    candidate_id: str
    end_commit: str | None
    files_changed: int
    insertions: int
    deletions: int
    stack: str | None
    runtime: str | None
    as_of: str | None
    fail_to_pass: int
    pass_to_pass: int
    pass_to_fail: int
    status: Outcome
    reason_code: ReasonCode


class ObstacleRow(Row):
    """Something that stood in the way of a build, and what was tried."""

    table = "obstacles"
    candidate_id: str
    phase: Phase
    attempt: int
    symptom: str
    remedy: str
    resolved: bool


class EnvironmentRow(Row):
    """The container image of the start state."""

    table = "environments"
    candidate_id: str
    environment_id: str
    image: str
    image_id: Annotated[str | None, VOLATILE]
    size_bytes: Annotated[int, VOLATILE]
    unique_bytes: Annotated[int, VOLATILE]
    """Bytes that only this image adds on top of its dependency layer."""
    build_seconds: Seconds
    leak_hits: int
    status: Outcome
    reason_code: ReasonCode
    log_uri: str | None


class VerifierRow(Row):
    """The quality card of a verifier. Null means: this gate has not been measured."""

    table = "verifiers"
    candidate_id: str
    environment_id: str
    verifier_id: str
    grade: str
    """A: probe and judge; B: the repository's runner in process, hardened."""
    tier: str
    """eval, train or quarantine."""
    fail_to_pass: int
    pass_to_pass: int
    pass_to_fail: int
    nop_reward: float | None
    stub_reward: float | None
    oracle_reward: float | None
    repeats: int
    flips: int
    hunks_required: int | None
    hunks_detected: int | None
    mutants: int | None
    mutants_killed: int | None
    twins: int | None
    guess_odds: float | None
    attacks: int | None
    attack_wins: int | None
    coupling_findings: int | None
    status: str
    """admitted, rejected or needs_model."""
    reason_code: ReasonCode


class TestResultRow(Row):
    """One test in one run of a verifier: the first nop and oracle run in full, later runs only where they deviate."""

    __test__ = False
    table = "test_results"
    verifier_id: str
    run: str
    test_id: str
    outcome: str
    failure_kind: FailureKind | None
    seconds: Seconds


class TestRunRow(Row):
    """One run of a verifier."""

    __test__ = False
    table = "test_runs"
    verifier_id: str
    run: str
    kind: str
    """nop, oracle, hunk or replay."""
    passed: int
    failed: int
    deviations: int
    reward: float | None
    seconds: Seconds
    vector_uri: str | None


class RolloutRow(Row):
    """One agent's run in an environment."""

    table = "rollouts"
    candidate_id: str
    rollout_id: str
    environment_id: str
    agent: str
    model: str | None
    reward: float | None
    exit_reason: str
    steps: int
    tokens: int | None
    cost_usd: Annotated[float | None, VOLATILE]
    seconds: Seconds
    trajectory_uri: str


class CostRow(Row):
    """A measured cost of a phase: kind is e.g. cpu_seconds (of its containers), containers, unique_bytes."""

    table = "costs"
    candidate_id: str
    phase: Phase
    kind: str
    value: Annotated[float, VOLATILE]


class PhaseRunRow(Row):
    """One phase run: a committed manifest, or an attempt that ended in an infrastructure failure."""

    table = "phase_runs"
    candidate_id: str
    phase: Phase
    input_key: str
    upstream_key: str | None
    state: str
    """An Outcome, or `crashed` for an infrastructure failure, which committed nothing."""
    reason_code: ReasonCode | None
    message: str
    flow_run_id: Annotated[str | None, VOLATILE]
    started_at: Moment
    seconds: Seconds


class ReleaseMemberRow(Row):
    """One environment in one release."""

    table = "release_members"
    candidate_id: str
    environment_id: str
    verifier_id: str
    version: Annotated[str, VOLATILE]
    task_digest: str
    path: str


TABLES: tuple[type[Row], ...] = (
    ContributionRow,
    CandidateRow,
    RedactionRow,
    VerdictRow,
    RequirementRow,
    OutcomeRow,
    ReconstructionRow,
    ObstacleRow,
    EnvironmentRow,
    VerifierRow,
    TestResultRow,
    TestRunRow,
    RolloutRow,
    CostRow,
    PhaseRunRow,
    ReleaseMemberRow,
)
"""Every table of the catalog, in the order they are shown."""


def volatile_columns(row: type[Row]) -> frozenset[str]:
    """Names of the columns that comparisons of catalogs leave out."""
    return frozenset(name for name, field in row.model_fields.items() if _has(field.metadata, Volatile))


def json_columns(row: type[Row]) -> frozenset[str]:
    """Names of the columns that hold JSON text."""
    return frozenset(name for name, field in row.model_fields.items() if _has(field.metadata, JsonText))


def _has(metadata: list[Any], kind: type) -> bool:
    return any(isinstance(mark, kind) for mark in metadata)
