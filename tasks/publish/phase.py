"""Publish as a phase: admitted environments become one release; each gets a manifest when it first appears in one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from blocks.builder.packages import load_package
from blocks.chain import Chain, load_upstream
from blocks.errors import PermanentError
from blocks.lake import ObjectStore, PhaseKey, PhaseWriter, commit_phase, find_manifest
from blocks.lake.commit import input_key
from blocks.phases import PhaseResult, result_of
from blocks.recipe import RUNTIME, Package, Recipe, Vendored
from blocks.records import (
    CandidateRow,
    EnvironmentRow,
    Outcome,
    Phase,
    Qualifier,
    ReasonCode,
    ReconstructionRow,
    Record,
    ReleaseMemberRow,
    RolloutRow,
    VerdictRow,
    VerifierRow,
)
from blocks.settings import Settings
from blocks.trees import pack
from blocks.workshop import Workshop
from tasks.publish.card import CardNumber
from tasks.publish.environment import PackageLoader
from tasks.publish.member import Member
from tasks.publish.numbers import card_numbers
from tasks.publish.release import Release, release
from tasks.publish.write import place_release

VERSION = 2
REPLAY = "replay"
"""The rollout whose trajectory is the contributed session itself."""
PUBLISH_TRACE = "publish_trace"
"""The consent without which it stays unpublished."""


class Config(Record):
    """Settings that change a published task."""

    organisation: str


class _Task(BaseModel):
    verifier_id: str


class _Index(BaseModel):
    """What is read of a release's manifest.json."""

    tasks: tuple[_Task, ...]


class Published(Record):
    """A release that was written."""

    version: str
    folder: str
    results: tuple[PhaseResult, ...]


def publish_verified(workshop: Workshop, verified: Sequence[PhaseKey], force: bool) -> Published | None:
    """Publish the candidates of these capture runs.

    Returns:
        None where the latest release holds exactly these, and `force` is not set.
    """
    store, settings = workshop.store, workshop.settings
    chains = [_chain(store, key) for key in verified]
    verifiers = {chain.row(Phase.SYNTHESIS, VerifierRow).verifier_id for chain in chains}
    new = [chain for chain in chains if find_manifest(store, publish_key(chain, settings)) is None]
    if not new and not force and verifiers == latest_verifiers(settings.releases):
        return None
    return publish(store, settings, chains, card_numbers(settings.catalog_path), workshop.flow_run_id)


def latest_verifiers(releases: Path) -> set[str] | None:
    """Ids of the verifiers in the latest release on this machine; None where there is none."""
    try:
        text = (releases / "latest" / "manifest.json").read_text(encoding="utf-8")
    except OSError:
        return None
    return {entry.verifier_id for entry in _Index.model_validate_json(text).tasks}


def publish_key(chain: Chain, settings: Settings) -> PhaseKey:
    """Key of the publish run of a candidate whose rollouts are recorded."""
    upstream = chain.manifest(Phase.CAPTURE).key.input_key
    key = input_key(Phase.PUBLISH, VERSION, upstream, Config(organisation=settings.organisation))
    return chain.key(Phase.PUBLISH, key, upstream)


def publish(
    store: ObjectStore,
    settings: Settings,
    chains: Sequence[Chain],
    numbers: Mapping[str, CardNumber],
    flow_run_id: str | None = None,
) -> Published:
    """Write a release of all given candidates, also into the store, then commit each candidate's manifest."""
    members = [member_of(chain, settings) for chain in chains]
    made = release(
        members,
        package_loader(store, members),
        settings.organisation,
        day=datetime.now(UTC).date(),
        numbers=numbers,
    )
    folder = place_release(made, settings.releases)
    _keep(store, made, folder)
    rows = {row.candidate_id: row for row in made.members}
    results = [_commit(store, settings, chain, rows[chain.candidate_id], folder.name, flow_run_id) for chain in chains]
    return Published(version=folder.name, folder=str(folder), results=tuple(results))


def member_of(chain: Chain, settings: Settings) -> Member:
    """Everything one candidate publishes, from what its phases committed."""
    rollouts = tuple(chain.rows(Phase.CAPTURE, RolloutRow))
    return Member(
        candidate=chain.row(Phase.INGEST, CandidateRow),
        environment=chain.row(Phase.CONTAINERIZE, EnvironmentRow),
        verifier=chain.row(Phase.SYNTHESIS, VerifierRow),
        reconstruction=chain.row(Phase.ARCHAEOLOGY, ReconstructionRow),
        rollouts=rollouts,
        instruction=chain.candidate().instruction,
        recipe=chain.record(Phase.ARCHAEOLOGY, "recipe.json", Recipe),
        start=chain.tree(Phase.ARCHAEOLOGY, "start.tar"),
        solution=chain.tree(Phase.ARCHAEOLOGY, "solution.tar"),
        tests=chain.tree(Phase.SYNTHESIS, "tests.tar"),
        runtime=runtime_of(chain),
        licence=licence_of(chain),
        timeout_sec=settings.timeouts.tests_sec + 120,
        agent_timeout_sec=settings.timeouts.agent_sec,
        trajectories={
            rollout.agent: chain.content(Phase.CAPTURE, f"trajectories/{rollout.agent}.json")
            for rollout in rollouts
            if rollout.agent != REPLAY or PUBLISH_TRACE in chain.candidate().consent_scopes.split(",")
        },
        cpus=max(1, int(settings.engine.cpus)),
        memory_mb=settings.engine.memory_mb,
    )


def runtime_of(chain: Chain) -> tuple[Package, ...]:
    """What the environment's runtime is made from, where Debian does not have it."""
    if not chain.has(Phase.CONTAINERIZE, RUNTIME):
        return ()
    return chain.record(Phase.CONTAINERIZE, RUNTIME, Vendored).packages


def licence_of(chain: Chain) -> str:
    """SPDX id the origin qualifier read at the start commit; `NOASSERTION` where that gate was off and found none."""
    for row in chain.rows(Phase.QUALIFY, VerdictRow):
        if row.qualifier is Qualifier.ORIGIN:
            evidence = TypeAdapter(dict[str, object]).validate_json(row.evidence)
            licence = evidence.get("licence")
            if isinstance(licence, str):
                return licence
    return "NOASSERTION"


def package_loader(store: ObjectStore, members: Sequence[Member]) -> PackageLoader:
    """Gives the bytes of a vendored package by its hash."""
    known: dict[str, Package] = {package.sha256: package for member in members for package in _packages(member)}

    def load(sha256: str, filename: str) -> bytes:
        del filename
        return load_package(store, known[sha256])

    return load


def _packages(member: Member) -> tuple[Package, ...]:
    installer = (member.recipe.installer,) if member.recipe.installer else ()
    return (*member.recipe.packages, *installer, *member.runtime)


def _chain(store: ObjectStore, key: PhaseKey) -> Chain:
    manifest = find_manifest(store, key)
    if manifest is None:
        raise PermanentError(f"{key.candidate_id}: its rollouts are not committed; run `envmill run` first")
    return load_upstream(store, key).with_manifest(manifest)


def _keep(store: ObjectStore, made: Release, folder: Path) -> None:
    """Put the release into the store as one archive, so that it outlives this machine."""
    key = f"releases/{folder.name}/release.tar"
    if store.head(key) is None:
        store.put(key, pack(made.tree))


def _commit(
    store: ObjectStore, settings: Settings, chain: Chain, row: ReleaseMemberRow, version: str, flow_run_id: str | None
) -> PhaseResult:
    key = publish_key(chain, settings)
    committed = find_manifest(store, key)
    if committed is not None:
        return result_of(committed, reused=True)
    writer = PhaseWriter(store, key, flow_run_id)
    writer.rows([row.model_copy(update={"version": version})])
    manifest = commit_phase(writer, Outcome.PASSED, ReasonCode.OK, f"in release {version} as {row.path}")
    return result_of(manifest, reused=False)
