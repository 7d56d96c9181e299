"""One candidate on its way through the phases, in a home of the tests' own; each phase runs through its definition."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from blocks.chain import Chain
from blocks.lake import Manifest, PhaseKey, PhaseWriter, commit_phase, find_manifest
from blocks.phases import PhaseDefinition, PhaseResult, expected_key, result_of
from blocks.records import CandidateRow, Outcome, OutcomeRow, Phase, ReasonCode, Row
from blocks.session import Edit, EditKind, Intervention, Replacement, Session, Speaker, Step
from blocks.settings import GateSettings, Settings
from blocks.work import perform
from blocks.workshop import Workshop
from tests.history import History
from tests.tasks.projects import Project

CANDIDATE = "c-00000000cafebabe"
REPOSITORY = "https://github.com/example/kettle"
INSTRUCTION = "Boiling a litre takes more than boil() says."


class Candidate:
    """A candidate that was ingested and qualified; `run` does one phase after the other."""

    def __init__(self, home: Path, project: Project, *, edits: tuple[Edit, ...] = ()) -> None:
        history = History(home / "origin")
        self.start = history.commit(project.start, "Start", day=0)
        self.end = history.commit(project.change, "Boil as physics says", day=2)
        settings = Settings(home=home, mirrors={REPOSITORY: str(history.folder)}, gates=GateSettings(repeats=1))
        self.workshop = Workshop(settings)
        self.edits = edits
        self.chain = Chain(self.workshop.store, CANDIDATE)
        self.ingest(INSTRUCTION)

    def ingest(self, instruction: str) -> None:
        """Begin (again), with this instruction."""
        row = CandidateRow(
            candidate_id=CANDIDATE,
            contribution_id="x-1",
            source="prompt",
            repository=REPOSITORY,
            start_commit=self.start,
            start_fidelity=1.0,
            instruction=instruction,
            language="python",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        session = Session(
            source="cline",
            session_id="s-1",
            repository=REPOSITORY,
            start_commit=self.start,
            start_evidence="by hand",
            steps=(Step(index=0, speaker=Speaker.USER, text=instruction, intervention=Intervention.PROMPT),),
            edits=self.edits,
        )
        outcome = OutcomeRow(
            candidate_id=CANDIDATE, rank=1, commit=self.end, score=1, overlap=1, touches_tests=True, evidence="{}"
        )
        self.chain = Chain(self.workshop.store, CANDIDATE)
        self.commit(Phase.INGEST, [row], {"session.json": session.model_dump_json()})
        self.commit(Phase.QUALIFY, [outcome], {})

    def commit(self, phase: Phase, rows: list[Row], objects: Mapping[str, bytes | str]) -> Manifest:
        """Commit a phase by hand and go on from there."""
        last = list(self.chain.manifests.values())[-1].key.input_key if self.chain.manifests else None
        number = len(list(self.workshop.store.list(f"candidates/{CANDIDATE}/{phase}/")))
        key = PhaseKey(candidate_id=CANDIDATE, phase=phase, input_key=f"{phase}-{number}", upstream_key=last)
        writer = PhaseWriter(self.workshop.store, key)
        writer.rows(rows)
        for name, content in objects.items():
            writer.object(name, content)
        manifest = commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "by hand")
        self.chain = self.chain.with_manifest(manifest)
        return manifest

    def run(self, definition: PhaseDefinition) -> PhaseResult:
        """Do the next phase; the chain goes on from its manifest."""
        before = list(Phase)[list(Phase).index(definition.phase) - 1]
        upstream = self.chain.manifest(before).key.input_key
        key = expected_key(definition, self.workshop.settings, self.chain, upstream)
        result = perform(definition, key, self.workshop)
        manifest = find_manifest(self.workshop.store, key)
        assert manifest is not None and result == result_of(manifest, reused=result.reused)
        self.chain = self.chain.with_manifest(manifest)
        return result


def write(path: str, content: str) -> Edit:
    """A whole file."""
    return Edit(step=0, kind=EditKind.WRITE, path=path, content=content)


def replace(path: str, search: str, replacement: str) -> Edit:
    """One SEARCH/REPLACE block."""
    blocks = (Replacement(search=search, replace=replacement),)
    return Edit(step=0, kind=EditKind.REPLACE, path=path, replacements=blocks)
