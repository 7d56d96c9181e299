"""Archaeology as a phase: reads the candidate and its outcome, commits both states and what was learned."""

from blocks.chain import Chain
from blocks.errors import PermanentError
from blocks.lake import PhaseWriter
from blocks.llm import cost_rows, model_run
from blocks.path_kinds import PathKind, kind_of, split
from blocks.phases import Decision, PhaseDefinition
from blocks.recipe import Paths
from blocks.records import CandidateRow, CostRow, OutcomeRow, Phase, Record
from blocks.session import Session
from blocks.settings import Settings
from blocks.start import START, Start, recovered_files
from blocks.trees import pack
from blocks.workshop import Workshop
from tasks.archaeology.proposing import asking_for, names_of
from tasks.archaeology.reconstruct import VERSION, Reconstruction, reconstruct
from tasks.archaeology.states import changed

LOG = "archaeology.log"
"""Every command of the phase with its whole output; without any, why there was none."""


class Config(Record):
    """Settings that change what archaeology finds."""

    base_image: str
    tests_sec: int
    repeats: int


class AskingConfig(Config):
    """The same where a model may mend recipes."""

    models: tuple[str, ...]


def run(workshop: Workshop, chain: Chain, writer: PhaseWriter) -> Decision:
    """Rebuild and test both states of the candidate's best outcome."""
    candidate = chain.candidate()
    outcomes = sorted(chain.rows(Phase.QUALIFY, OutcomeRow), key=lambda row: row.rank)
    if not outcomes:
        raise PermanentError(f"{chain.candidate_id}: qualify passed it without an outcome; this is a fault of envmill")
    start = _start(chain, candidate)
    repository = workshop.mirrors.open(
        candidate.repository, commit=start.base_commit if start else candidate.start_commit
    )
    commit = repository.resolve(start.base_commit if start else candidate.start_commit)
    if commit is None:
        raise PermanentError(
            f"{chain.candidate_id}: {candidate.repository} no longer has its start commit; give a mirror that has it, or ask "
            "qualify again (--retry)"
        )
    recovered = None
    if start is not None and start.recovered:
        session = chain.record(Phase.INGEST, "session.json", Session)
        recovered = recovered_files(start, session, repository.export(commit))
    with workshop.engine.transcribed() as transcript, model_run(workshop.settings.models) as models:
        asked = asking_for(workshop.settings, models, workshop.store, chain.candidate_id, writer.key.input_key)
        found = reconstruct(
            workshop.engine,
            workshop.store,
            workshop.settings,
            repository,
            candidate_id=chain.candidate_id,
            start_commit=commit,
            end_commit=outcomes[0].commit,
            start=start,
            recovered=recovered,
            asking=asked[0] if asked else None,
        )
    for name, vector in (("start tree with the outcome's tests", found.before), ("solution", found.after)):
        if vector is not None:
            transcript.note(f"\n== tests of the {name}: end of their output\n{vector.log_tail}")
    writer.object(LOG, transcript.content() or found.message.encode())
    tries = CostRow(candidate_id=chain.candidate_id, phase=Phase.ARCHAEOLOGY, kind="tries", value=found.tries)
    money = cost_rows(chain.candidate_id, Phase.ARCHAEOLOGY, asked[1].spents if asked else [])
    writer.rows([*workshop.engine_costs(chain.candidate_id, Phase.ARCHAEOLOGY), tries, *money])
    _write(writer, found)
    return Decision(outcome=found.row.status, reason_code=found.row.reason_code, message=found.message)


def _start(chain: Chain, candidate: CandidateRow) -> Start | None:
    """What qualify decided of the start; None where it left no word of it (a candidate that was pinned by hand)."""
    if not chain.has(Phase.QUALIFY, START):
        return None
    start = chain.record(Phase.QUALIFY, START, Start)
    if start.commit != candidate.start_commit:
        raise PermanentError(
            f"{candidate.candidate_id}: {START} is of another start commit; this is a fault of envmill"
        )
    return start


def _write(writer: PhaseWriter, found: Reconstruction) -> None:
    writer.rows([found.row])
    writer.rows(found.obstacles)
    writer.record(START, found.start)
    if found.states is not None:
        states = found.states
        writer.object("start.tar", pack(states.start))
        writer.object("solution.tar", pack(states.solution))
        writer.object("hidden.tar", pack(states.hidden))
        parts = split(changed(states.start, states.solution), found.submodules)
        tests = tuple(sorted(path for path in states.start if kind_of(path, found.submodules) is PathKind.TEST))
        writer.record(
            "paths.json",
            Paths(
                test_paths=tests,
                source_paths=parts.source,
                configuration_paths=parts.configuration,
                removed_tests=states.removed_tests,
                documentation_paths=parts.documentation,
                generated_paths=parts.generated,
            ),
        )
    if found.patch:
        writer.object("outcome.patch", found.patch)
    if found.recipe is not None:
        writer.record("recipe.json", found.recipe)
    for name, vector in (("before", found.before), ("after", found.after)):
        if vector is not None:
            writer.record(f"{name}.json", vector)
    if found.comparison is not None:
        writer.record("comparison.json", found.comparison)


def _config(settings: Settings) -> Config:
    plain = Config(
        base_image=settings.engine.base_image, tests_sec=settings.timeouts.tests_sec, repeats=settings.gates.repeats
    )
    models = names_of(settings)
    return AskingConfig(models=models, **dict(plain)) if models else plain


ARCHAEOLOGY = PhaseDefinition(Phase.ARCHAEOLOGY, VERSION, _config, run)
