"""How phases hang together: each one's key follows from the key before it, its version and its configuration.

So the whole chain of expected keys is known from the ingest key alone; what is committed under them is reused, and the
first one that is not is what is pending.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import SerializeAsAny

from blocks.chain import Chain
from blocks.lake import Manifest, ObjectStore, PhaseKey, PhaseWriter, attempt_of, find_manifest
from blocks.lake.commit import MANIFEST, input_key
from blocks.records import Outcome, Phase, ReasonCode, Record
from blocks.settings import Settings
from blocks.workshop import Workshop


class Decision(Record):
    """How a phase's work ended, before it is committed."""

    outcome: Outcome
    reason_code: ReasonCode
    message: str


@dataclass(frozen=True)
class PhaseDefinition:
    """A phase: its place, the version of its code, the settings that change its result, and its work.

    `version` is raised whenever the same inputs would give another result.
    """

    phase: Phase
    version: int
    config: Callable[[Settings], Record | None]
    run: Callable[[Workshop, Chain, PhaseWriter], Decision]
    own_config: Callable[[Settings, Chain], Record | None] | None = None
    """Settings that change the result of this candidate only; None where there are none."""


class KeyParts(Record):
    """What goes into a key where a candidate has settings of its own."""

    shared: SerializeAsAny[Record] | None
    own: SerializeAsAny[Record]


class PhaseResult(Record):
    """What a phase run gave, small enough to pass between Prefect runs."""

    candidate_id: str
    phase: Phase
    input_key: str
    outcome: Outcome
    reason_code: ReasonCode
    message: str
    reused: bool

    @property
    def goes_on(self) -> bool:
        """Whether the next phase may begin."""
        return self.outcome is Outcome.PASSED


def result_of(manifest: Manifest, *, reused: bool) -> PhaseResult:
    """The result a manifest stands for."""
    return PhaseResult(
        candidate_id=manifest.key.candidate_id,
        phase=manifest.key.phase,
        input_key=manifest.key.input_key,
        outcome=manifest.outcome,
        reason_code=manifest.reason_code,
        message=manifest.message,
        reused=reused,
    )


def expected_key(
    definition: PhaseDefinition, settings: Settings, chain: Chain, upstream_key: str, attempt: int | None = None
) -> PhaseKey:
    """The key this phase would have for this candidate now. `attempt`: how often a retry was asked for, where known."""
    if attempt is None:
        attempt = attempt_of(chain.store, chain.candidate_id, definition.phase)
    config = definition.config(settings)
    own = definition.own_config(settings, chain) if definition.own_config else None
    if own is not None:
        config = KeyParts(shared=config, own=own)
    key = input_key(definition.phase, definition.version, upstream_key, config, attempt)
    return chain.key(definition.phase, key, upstream_key)


def ingest_manifest(store: ObjectStore, candidate_id: str) -> Manifest | None:
    """The latest committed ingest of a candidate."""
    prefix = f"candidates/{candidate_id}/{Phase.INGEST}/"
    found = [
        Manifest.model_validate_json(store.get(info.key))
        for info in store.list(prefix)
        if info.key.endswith(f"/{MANIFEST}")
    ]
    return max(found, key=lambda manifest: manifest.committed_at, default=None)


def load_chain(
    store: ObjectStore, settings: Settings, candidate_id: str, definitions: Sequence[PhaseDefinition]
) -> tuple[Chain, PhaseKey | None]:
    """The committed chain under the keys now expected, and the key of the first phase that is not committed.

    The key is None where the candidate has come to its end: everything is committed, or a phase did not pass.
    A candidate that was never ingested gives an empty chain and None.
    """
    chain = Chain(store, candidate_id)
    manifest = ingest_manifest(store, candidate_id)
    if manifest is None:
        return chain, None
    chain = chain.with_manifest(manifest)
    for definition in definitions:
        if manifest.outcome is not Outcome.PASSED:
            return chain, None
        key = expected_key(definition, settings, chain, manifest.key.input_key)
        committed = find_manifest(store, key)
        if committed is None:
            return chain, key
        manifest = committed
        chain = chain.with_manifest(manifest)
    return chain, None
