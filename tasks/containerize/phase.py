"""Containerize as a phase: builds the environment image, scans it, commits what was built and what was found."""

import time

from blocks.builder.foundations import foundation_of
from blocks.chain import Chain
from blocks.lake import PhaseWriter
from blocks.phases import Decision, PhaseDefinition
from blocks.recipe import RUNTIME, Recipe, Vendored
from blocks.records import EnvironmentRow, Outcome, Phase, ReasonCode, ReconstructionRow
from blocks.settings import Settings
from blocks.trees import Tree, pack
from blocks.workshop import Workshop
from tasks.containerize.fingerprints import Fingerprints, fingerprint
from tasks.containerize.leaks import LeakHit, scan_text
from tasks.containerize.scan import scan_image
from tasks.containerize.seal import Sealed, seal

VERSION = 3


def environment_id(repository: str, candidate_id: str) -> str:
    """Identity of an environment: the repository's name and the candidate's; lower-case letters, digits, dashes."""
    name = repository.rstrip("/").rpartition("/")[2].lower()
    plain = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name).strip("-")
    return f"{plain or 'repository'}-{candidate_id.removeprefix('c-')[:8]}"


def run(workshop: Workshop, chain: Chain, writer: PhaseWriter) -> Decision:
    """Build the image of the start state and prove that it gives nothing away."""
    workshop.make_room()
    candidate = chain.candidate()
    recipe = chain.record(Phase.ARCHAEOLOGY, "recipe.json", Recipe)
    start = chain.tree(Phase.ARCHAEOLOGY, "start.tar")
    identity = environment_id(candidate.repository, chain.candidate_id)
    started = time.monotonic()
    runtime_image = foundation_of(recipe).runtime_image(workshop.engine, workshop.settings, recipe)
    if runtime_image is None:
        return _failed(writer, chain, identity, f"no runtime image for {recipe.stack} {recipe.runtime}")
    built = seal(
        workshop.engine,
        workshop.store,
        workshop.settings,
        recipe,
        start,
        runtime_image=runtime_image,
        environment_id=identity,
    )
    log_uri = writer.object("build.log", built.log)
    if built.failure:
        return _failed(writer, chain, identity, built.failure, log_uri=log_uri, image=built.reference)
    seconds = time.monotonic() - started
    prints = _prints(chain, start)
    hits = _scan(workshop, chain, built, prints, recipe, start, runtime_image)
    writer.object("workspace.tar", pack(built.workspace))
    if runtime := foundation_of(recipe).vendored(workshop.engine, workshop.store, recipe, runtime_image):
        writer.record(RUNTIME, Vendored(packages=runtime))
    writer.object("leaks.json", "[" + ",".join(hit.model_dump_json() for hit in hits) + "]")
    engine = workshop.engine
    row = EnvironmentRow(
        candidate_id=chain.candidate_id,
        environment_id=identity,
        image=built.reference,
        image_id=engine.image_id(built.reference),
        size_bytes=engine.image_size(built.reference),
        unique_bytes=engine.unique_bytes(built.reference, built.below),
        build_seconds=seconds,
        leak_hits=len(hits),
        status=Outcome.REJECTED if hits else Outcome.PASSED,
        reason_code=ReasonCode.LEAK_FOUND if hits else ReasonCode.OK,
        log_uri=log_uri,
    )
    writer.rows([row])
    writer.rows(workshop.engine_costs(chain.candidate_id, Phase.CONTAINERIZE))
    if hits:
        found = "; ".join(f"{hit.kind} at {hit.path} ({hit.evidence})" for hit in hits[:5])
        return Decision(
            outcome=Outcome.REJECTED, reason_code=ReasonCode.LEAK_FOUND, message=f"{len(hits)} leaks: {found}"
        )
    message = (
        f"{built.reference}, {row.unique_bytes} bytes of its own, {prints.count()} fingerprints looked for, none found"
    )
    return Decision(outcome=Outcome.PASSED, reason_code=ReasonCode.OK, message=message)


def _prints(chain: Chain, start: Tree) -> Fingerprints:
    revealed = {**chain.tree(Phase.ARCHAEOLOGY, "solution.tar"), **chain.tree(Phase.ARCHAEOLOGY, "hidden.tar")}
    return fingerprint(start, revealed)


def _scan(
    workshop: Workshop,
    chain: Chain,
    built: Sealed,
    prints: Fingerprints,
    recipe: Recipe,
    start: Tree,
    runtime_image: str,
) -> list[LeakHit]:
    candidate = chain.candidate()
    end_commit = chain.row(Phase.ARCHAEOLOGY, ReconstructionRow).end_commit
    hits = scan_image(
        workshop.engine,
        workshop.store,
        workshop.settings,
        built.reference,
        prints,
        below=runtime_image,
        recipe=recipe,
        repository=candidate.repository,
        end_commit=end_commit,
        start=start,
    )
    return hits + scan_text("instruction", candidate.instruction, prints, secrets=[end_commit] if end_commit else [])


def _failed(
    writer: PhaseWriter, chain: Chain, identity: str, message: str, *, log_uri: str | None = None, image: str = ""
) -> Decision:
    writer.rows(
        [
            EnvironmentRow(
                candidate_id=chain.candidate_id,
                environment_id=identity,
                image=image,
                image_id=None,
                size_bytes=0,
                unique_bytes=0,
                build_seconds=0.0,
                leak_hits=0,
                status=Outcome.FAILED,
                reason_code=ReasonCode.BUILD_FAILED,
                log_uri=log_uri,
            )
        ]
    )
    return Decision(outcome=Outcome.FAILED, reason_code=ReasonCode.BUILD_FAILED, message=message)


def _no_config(settings: Settings) -> None:
    del settings


CONTAINERIZE = PhaseDefinition(Phase.CONTAINERIZE, VERSION, _no_config, run)
