"""Which environment images are still asked for: told by the lake, where a commit counts from the moment it is made."""

from blocks.lake import Manifest, ObjectStore, load_rows
from blocks.lake.commit import MANIFEST
from blocks.records import EnvironmentRow, Outcome, Phase

_NEXT = (Phase.SYNTHESIS, Phase.CAPTURE, Phase.PUBLISH)


def is_unfinished(store: ObjectStore, reference: str) -> bool:
    """Whether a later phase, or a person, may still ask for an environment image.

    False where its candidate is published, was rejected after it was built, or is not in this lake.

    Args:
        store: the lake.
        reference: `envmill/environment:<name>-<first 8 digits of the candidate>-<digest>`, or an image of another kind.

    Raises:
        TransientError, PermanentError: of the store.
    """
    parts = reference.rpartition("/environment:")[2].rsplit("-", 2)
    if len(parts) != 3 or "/environment:" not in reference:
        return False
    manifests = [
        Manifest.model_validate_json(store.get(info.key))
        for info in store.list(f"candidates/c-{parts[1]}")
        if info.key.endswith(f"/{MANIFEST}")
    ]
    return any(
        _waits(manifests, manifest)
        for manifest in manifests
        if manifest.key.phase is Phase.CONTAINERIZE and manifest.outcome is Outcome.PASSED
        if any(row.image == reference for row in load_rows(store, manifest, EnvironmentRow))
    )


def _waits(manifests: list[Manifest], built: Manifest) -> bool:
    """Whether what was made from an environment has not come to an end."""
    current = built
    for phase in _NEXT:
        above = [
            manifest
            for manifest in manifests
            if manifest.key.phase is phase and manifest.key.upstream_key == current.key.input_key
        ]
        if not above:
            return True
        current = max(above, key=lambda manifest: manifest.committed_at)
        if current.outcome is Outcome.REJECTED:
            return False
    return False
