"""Phase runs over a real store: what is reused, what gets a new key, what a crash leaves, where a chain stops."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from blocks.chain import Chain, load_upstream
from blocks.errors import PermanentError, TransientError
from blocks.lake import LeaseHeldError, Manifest, ObjectStore, PhaseKey, PhaseWriter, ask_retry, commit_phase
from blocks.phases import Decision, PhaseDefinition, expected_key, ingest_manifest, load_chain
from blocks.records import CandidateRow, CostRow, Outcome, Phase, ReasonCode, Record
from blocks.settings import GateSettings, Settings
from blocks.trees import pack
from blocks.work import hold, perform
from blocks.workshop import Workshop
from tests.trees import tree

CANDIDATE = "c-0123456789abcdef"
FLOW = (Phase.QUALIFY, Phase.ARCHAEOLOGY, Phase.CONTAINERIZE)


class Config(Record):
    repeats: int


class Flow:
    """Three phases that only count how often they ran; what one decides can be set."""

    def __init__(self, home: Path) -> None:
        self.workshop = Workshop(Settings(home=home))
        self.ran: list[Phase] = []
        self.outcomes = dict.fromkeys(FLOW, Outcome.PASSED)
        self.versions = dict.fromkeys(FLOW, 1)
        self.failing: Exception | None = None

    @property
    def store(self) -> ObjectStore:
        return self.workshop.store

    def definitions(self) -> list[PhaseDefinition]:
        return [self._definition(phase) for phase in FLOW]

    def _definition(self, phase: Phase) -> PhaseDefinition:
        def work(workshop: Workshop, chain: Chain, writer: PhaseWriter) -> Decision:
            self.ran.append(phase)
            if self.failing:
                writer.object("half.txt", "half")
                raise self.failing
            assert list(chain.manifests) == list(reversed([Phase.INGEST, *FLOW[: FLOW.index(phase)]]))
            assert chain.candidate().instruction == "Boil."
            writer.rows([CostRow(candidate_id=CANDIDATE, phase=phase, kind="runs", value=len(self.ran))])
            return Decision(outcome=self.outcomes[phase], reason_code=ReasonCode.OK, message=f"{phase} done")

        def config(settings: Settings) -> Record | None:
            return Config(repeats=settings.gates.repeats) if phase is Phase.CONTAINERIZE else None

        return PhaseDefinition(phase, self.versions[phase], config, work)

    def ingest(self, key: str = "1" * 32) -> Manifest:
        writer = PhaseWriter(self.store, PhaseKey(candidate_id=CANDIDATE, phase=Phase.INGEST, input_key=key))
        row = CandidateRow(
            candidate_id=CANDIDATE,
            contribution_id="x-1",
            source="prompt",
            repository="https://github.com/owner/kettle",
            start_commit="a" * 40,
            start_fidelity=1.0,
            instruction="Boil.",
            language=None,
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        writer.rows([row])
        writer.object("tree.tar", pack(tree({"a.py": "x"})))
        return commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "ingested")

    def run(self) -> Chain:
        """Every pending phase in turn, as the flow does."""
        while True:
            chain, key = load_chain(self.store, self.workshop.settings, CANDIDATE, self.definitions())
            if key is None:
                return chain
            with hold(self.workshop, key):
                definition = next(entry for entry in self.definitions() if entry.phase is key.phase)
                result = perform(definition, key, self.workshop)
            assert not result.reused and result.input_key == key.input_key


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    made = Flow(tmp_path)
    made.ingest()
    return made


def keys(chain: Chain) -> list[str]:
    return [chain.manifest(phase).key.input_key for phase in (Phase.INGEST, *FLOW) if phase in chain.manifests]


def test_a_second_run_reuses_everything(flow: Flow) -> None:
    first = flow.run()
    assert flow.ran == list(FLOW)
    again = flow.run()
    assert flow.ran == list(FLOW)
    assert again.manifests == first.manifests
    definition, key = flow.definitions()[1], again.manifest(Phase.ARCHAEOLOGY).key
    result = perform(definition, key, flow.workshop)
    assert (result.reused, result.message, result.goes_on) == (True, "archaeology done", True)
    assert len(flow.ran) == 3


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.FAILED, Outcome.REVIEW, Outcome.NEEDS_MODEL])
def test_a_chain_stops_where_a_phase_does_not_pass(flow: Flow, outcome: Outcome) -> None:
    flow.outcomes[Phase.ARCHAEOLOGY] = outcome
    chain = flow.run()
    assert flow.ran == [Phase.QUALIFY, Phase.ARCHAEOLOGY]
    assert list(chain.manifests) == [Phase.INGEST, Phase.QUALIFY, Phase.ARCHAEOLOGY]
    flow.run()
    assert len(flow.ran) == 2, "a decision against the candidate is reused too"


def test_a_retry_mark_gives_a_new_key_to_this_phase_and_those_after(flow: Flow) -> None:
    flow.outcomes[Phase.ARCHAEOLOGY] = Outcome.FAILED
    before = flow.run()
    flow.outcomes[Phase.ARCHAEOLOGY] = Outcome.PASSED
    assert ask_retry(flow.store, CANDIDATE, Phase.ARCHAEOLOGY) == 1
    after = flow.run()
    assert flow.ran == [*FLOW[:2], *FLOW[1:]]
    assert keys(after)[:2] == keys(before)[:2]
    assert keys(after)[2] != keys(before)[2]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda flow: flow.versions.update({Phase.QUALIFY: 2}), 1),
        (lambda flow: flow.versions.update({Phase.ARCHAEOLOGY: 2}), 2),
        (lambda flow: setattr(flow.workshop, "settings", flow.workshop.settings.model_copy(
            update={"gates": GateSettings(repeats=5)})), 3),
        (lambda flow: setattr(flow.workshop, "settings", flow.workshop.settings.model_copy(
            update={"concurrency": 7})), 4),
    ],
    ids=["first version", "second version", "a setting that matters", "one that does not"],
)  # fmt: skip
def test_what_changes_which_keys(flow: Flow, change: Callable[[Flow], None], same: int) -> None:
    before = keys(flow.run())
    change(flow)
    after = keys(flow.run())
    assert after[:same] == before[:same]
    assert not set(after[same:]) & set(before)
    assert len(flow.ran) == 3 + len(FLOW) + 1 - same


def test_a_new_ingest_is_the_one_that_counts(flow: Flow) -> None:
    before = keys(flow.run())
    flow.ingest("2" * 32)
    found = ingest_manifest(flow.store, CANDIDATE)
    assert found and found.key.input_key == "2" * 32
    assert not set(keys(flow.run())) & set(before)


def test_a_candidate_nobody_knows(flow: Flow) -> None:
    chain, key = load_chain(flow.store, flow.workshop.settings, "c-none", flow.definitions())
    assert (chain.manifests, key) == ({}, None)


@pytest.mark.parametrize(
    ("error", "raised", "said"),
    [
        (
            TransientError("the index cannot be reached; run again"),
            TransientError,
            "the index cannot be reached; run again",
        ),
        (ValueError("text of a session: hunter2"), PermanentError, "ValueError at test_phases.py"),
    ],
)
def test_a_crash_leaves_a_row_and_commits_nothing(
    flow: Flow, error: Exception, raised: type[Exception], said: str
) -> None:
    """The text of an error that is not our own goes no further: it may hold what came from a session."""
    flow.failing = error
    with pytest.raises(raised) as told:
        flow.run()
    assert "hunter2" not in str(told.value) and told.value.__cause__ is None
    chain, key = load_chain(flow.store, flow.workshop.settings, CANDIDATE, flow.definitions())
    assert key and key.phase is Phase.QUALIFY
    assert list(chain.manifests) == [Phase.INGEST]
    (crash,) = [info.key for info in flow.store.list(f"{key.prefix}crashes/")]
    row = json.loads(flow.store.get(crash))
    assert (row["state"], row["reason_code"]) == ("crashed", None)
    assert said in row["message"] and "hunter2" not in row["message"]
    flow.failing = None
    assert Phase.CONTAINERIZE in flow.run().manifests, (
        "the next run tries again, under the same key, the lease given back"
    )
    assert flow.ran == [Phase.QUALIFY, *FLOW]


def test_two_workers_do_not_do_the_same(flow: Flow) -> None:
    _, key = load_chain(flow.store, flow.workshop.settings, CANDIDATE, flow.definitions())
    assert key
    with hold(flow.workshop, key), pytest.raises(LeaseHeldError):
        hold(Workshop(flow.workshop.settings), key)
    hold(Workshop(flow.workshop.settings), key).release()


def test_reading_a_chain(flow: Flow) -> None:
    chain = flow.run()
    assert chain.tree(Phase.INGEST, "tree.tar") == tree({"a.py": "x"})
    assert chain.has(Phase.INGEST, "tree.tar") and not chain.has(Phase.INGEST, "other.tar")
    assert chain.row(Phase.QUALIFY, CostRow).value == 1.0
    assert chain.rows(Phase.QUALIFY, CandidateRow) == []
    with pytest.raises(PermanentError, match="wrote 0 rows of candidates"):
        chain.row(Phase.QUALIFY, CandidateRow)
    with pytest.raises(PermanentError, match="phase capture has not been committed"):
        chain.manifest(Phase.CAPTURE)
    with pytest.raises(PermanentError, match="names no file"):
        chain.content(Phase.QUALIFY, "nothing.txt")
    flow.store.put(chain.manifest(Phase.INGEST).key.prefix + "tree.tar", b"other")
    with pytest.raises(PermanentError, match="sha256 differs"):
        chain.tree(Phase.INGEST, "tree.tar")


def test_a_run_reads_only_the_chain_it_stands_on(flow: Flow) -> None:
    chain = flow.run()
    key = chain.manifest(Phase.CONTAINERIZE).key
    found = load_upstream(flow.store, key)
    assert keys(found) == keys(chain)[:3]
    with pytest.raises(PermanentError, match="names no run of archaeology"):
        load_upstream(flow.store, key.model_copy(update={"upstream_key": None}))
    with pytest.raises(PermanentError, match="archaeology has no committed run 999"):
        load_upstream(flow.store, key.model_copy(update={"upstream_key": "999"}))
    settings = flow.workshop.settings
    assert expected_key(flow.definitions()[2], settings, found, keys(found)[-1]) == key
