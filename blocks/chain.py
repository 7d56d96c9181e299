"""One candidate's committed phases, each read through its manifest: what a phase gets to see of those before it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from blocks.errors import PermanentError
from blocks.lake import Manifest, ObjectStore, PhaseKey, find_manifest, load_rows, read_object, read_record
from blocks.records import CandidateRow, Phase, Record, Row
from blocks.trees import File, unpack_bytes

AnyRow = TypeVar("AnyRow", bound=Row)
AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True)
class Chain:
    """The committed manifests of one candidate, by phase, in the order of the flow of data."""

    store: ObjectStore
    candidate_id: str
    manifests: Mapping[Phase, Manifest] = field(default_factory=dict)

    def manifest(self, phase: Phase) -> Manifest:
        """The phase's manifest.

        Raises:
            PermanentError: the phase has not been committed.
        """
        if phase not in self.manifests:
            raise PermanentError(f"{self.candidate_id}: phase {phase} has not been committed; run the phases before it")
        return self.manifests[phase]

    def has(self, phase: Phase, name: str) -> bool:
        """Whether the phase wrote a file of this name."""
        return any(entry.name == name for entry in self.manifest(phase).files)

    def rows(self, phase: Phase, kind: type[AnyRow]) -> list[AnyRow]:
        """The phase's rows of one table; empty where it wrote none."""
        return load_rows(self.store, self.manifest(phase), kind)

    def row(self, phase: Phase, kind: type[AnyRow]) -> AnyRow:
        """The phase's only row of one table.

        Raises:
            PermanentError: there is not exactly one.
        """
        found = self.rows(phase, kind)
        if len(found) != 1:
            raise PermanentError(f"{self.candidate_id}: phase {phase} wrote {len(found)} rows of {kind.table}, not one")
        return found[0]

    def record(self, phase: Phase, name: str, kind: type[AnyRecord]) -> AnyRecord:
        """A record the phase wrote as JSON."""
        return read_record(self.store, self.manifest(phase), name, kind)

    def content(self, phase: Phase, name: str) -> bytes:
        """An object the phase wrote, its hash checked."""
        return read_object(self.store, self.manifest(phase), name)

    def tree(self, phase: Phase, name: str) -> dict[str, File]:
        """A tree the phase wrote as a tar."""
        return unpack_bytes(self.content(phase, name))

    def candidate(self) -> CandidateRow:
        """The candidate itself."""
        return self.row(Phase.INGEST, CandidateRow)

    def with_manifest(self, manifest: Manifest) -> "Chain":
        """The chain with one more phase."""
        return Chain(self.store, self.candidate_id, {**self.manifests, manifest.key.phase: manifest})

    def key(self, phase: Phase, input_key: str, upstream_key: str | None) -> PhaseKey:
        """Key of a phase run of this candidate."""
        return PhaseKey(candidate_id=self.candidate_id, phase=phase, input_key=input_key, upstream_key=upstream_key)


def load_upstream(store: ObjectStore, key: PhaseKey) -> Chain:
    """The chain a phase run stands on: each manifest names the key of the one before it.

    Raises:
        PermanentError: one of them is not committed.
    """
    chain = Chain(store, key.candidate_id)
    phases = list(Phase)
    upstream = key.upstream_key
    for phase in reversed(phases[: phases.index(key.phase)]):
        if upstream is None:
            raise PermanentError(f"{key.candidate_id}: phase {key.phase} names no run of {phase} that it stands on")
        manifest = find_manifest(store, chain.key(phase, upstream, None))
        if manifest is None:
            raise PermanentError(f"{key.candidate_id}: phase {phase} has no committed run {upstream}; run it first")
        chain = chain.with_manifest(manifest)
        upstream = manifest.key.upstream_key
    return chain
