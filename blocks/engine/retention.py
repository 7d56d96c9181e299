"""A budget for the images of one namespace: the oldest unused go first, nothing in use is touched.

Images share layers, so that only one with nothing on top of it gives bytes back: environments go before the
dependencies they stand on, those before runtimes, and the base comes last.
"""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import APIClient
from docker.errors import APIError

from blocks.engine.faults import ContainerEndedError, engine_faults
from blocks.engine.raw import inspect_image
from blocks.errors import EnvmillError

NAMESPACE = "envmill/"
GRACE_SEC = 3600.0
"""An image that was used this recently may be somebody's who has not begun a container of it yet."""

_LATER = {"python": 1, "node": 1, "native": 1, "base": 2}
"""Repositories that are given up after the others: what every candidate stands on."""


@dataclass(frozen=True)
class StoredImage:
    """One image of the namespace."""

    image_id: str
    references: tuple[str, ...]
    layers: tuple[str, ...]
    own_bytes: int
    """What it has beyond the largest image it is built on."""
    last_used: float
    """Seconds since the epoch; where no use was noted, when it was made."""

    @property
    def order(self) -> tuple[int, float]:
        """Lower goes first."""
        names = [reference.split(":")[0].rpartition("/")[2] for reference in self.references]
        return max(_LATER.get(name, 0) for name in names), self.last_used


class LastUse:
    """When images were last used on this machine: one empty file each, whose time says it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, reference: str) -> None:
        """It is used now."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(reference)
        path.touch()
        os.utime(path)

    def when(self, reference: str) -> float | None:
        """Seconds since the epoch, or None where it was never noted."""
        try:
            return self._path(reference).stat().st_mtime
        except FileNotFoundError:
            return None

    def forget(self, reference: str) -> None:
        """It is gone."""
        self._path(reference).unlink(missing_ok=True)

    def _path(self, reference: str) -> Path:
        return self._folder / hashlib.sha256(reference.encode()).hexdigest()[:32]


def stored_images(api: APIClient, last_use: LastUse, namespace: str = NAMESPACE) -> tuple[StoredImage, ...]:
    """The images of which every name begins with the namespace."""
    rows = [row for row in _rows(api) if row["RepoTags"]]
    sizes = {tuple(row["Layers"]): int(row["Size"]) for row in rows}
    return tuple(_stored(row, sizes, last_use) for row in rows if _is_ours(row, namespace))


def make_room(
    api: APIClient,
    last_use: LastUse,
    budget_bytes: int,
    *,
    is_wanted: Callable[[str], bool],
    namespace: str = NAMESPACE,
    grace_sec: float = GRACE_SEC,
) -> tuple[str, ...]:
    """Remove images until the namespace's take no more than the budget, or none is left that may go.

    Args:
        api: the engine.
        last_use: when which was used.
        budget_bytes: what they may take together.
        is_wanted: whether a reference must stay, and with it what it is built on; asked only of what would go next.
        namespace: how the names begin of the images that may go.
        grace_sec: what was used or made this recently stays.

    Returns:
        The references that were removed, in that order.
    """
    left = list(stored_images(api, last_use, namespace))
    total = sum(image.own_bytes for image in left)
    kept = _kept_layers(api, left, time.time() - grace_sec, namespace)
    removed: list[str] = []
    while total > budget_bytes:
        free = [
            image
            for image in left
            if image.layers not in kept and not any(_is_on_top(layers, image) for layers in kept)
            if not any(_is_on_top(other.layers, image) for other in left)
        ]
        if not free:
            break
        image = min(free, key=lambda image: image.order)
        if any(map(is_wanted, image.references)):
            kept.add(image.layers)
            continue
        left.remove(image)
        if not _remove(api, image):
            kept.add(image.layers)
            continue
        total -= image.own_bytes
        removed += image.references
        for reference in image.references:
            last_use.forget(reference)
    return tuple(removed)


def _is_on_top(layers: tuple[str, ...], image: StoredImage) -> bool:
    """Whether these layers are the image's and more."""
    return len(layers) > len(image.layers) and layers[: len(image.layers)] == image.layers


def _kept_layers(api: APIClient, images: Sequence[StoredImage], since: float, namespace: str) -> set[tuple[str, ...]]:
    """Layers of images that stay: others' images, what containers run, what is young."""
    with engine_faults("listing containers"):
        used = {row["ImageID"] for row in api.containers(all=True)}
    others = {tuple(row["Layers"]) for row in _rows(api) if not _is_ours(row, namespace)}
    return others | {image.layers for image in images if image.image_id in used or image.last_used > since}


def _rows(api: APIClient) -> list[dict[str, Any]]:
    """What the engine knows of every image; `Layers` from the bottom, `RepoTags` without those that are none."""
    with engine_faults("listing images"):
        listed = api.images()
    rows = []
    for row in listed:
        try:
            found = inspect_image(api, row["Id"])
        except EnvmillError:
            continue  # gone since it was listed
        tags = [tag for tag in found.get("RepoTags") or [] if tag != "<none>:<none>"]
        rows.append({**row, "RepoTags": tags, "Layers": found["RootFS"].get("Layers") or [], "Size": found["Size"]})
    return rows


def _is_ours(row: dict[str, Any], namespace: str) -> bool:
    return bool(row["RepoTags"]) and all(str(tag).startswith(namespace) for tag in row["RepoTags"])


def _stored(row: dict[str, Any], sizes: dict[tuple[str, ...], int], last_use: LastUse) -> StoredImage:
    layers = tuple(row["Layers"])
    below = next((sizes[layers[:depth]] for depth in range(len(layers) - 1, 0, -1) if layers[:depth] in sizes), 0)
    references = tuple(sorted(row["RepoTags"]))
    noted = [when for reference in references if (when := last_use.when(reference)) is not None]
    return StoredImage(
        image_id=row["Id"],
        references=references,
        layers=layers,
        own_bytes=int(row["Size"]) - below,
        last_used=max(noted, default=float(row["Created"])),
    )


def _remove(api: APIClient, image: StoredImage) -> bool:
    """Take all names off an image; False where the engine says that somebody uses it after all."""
    try:
        for reference in image.references:
            with engine_faults(f"removing {reference}"):
                api.remove_image(reference, force=False)
    except ContainerEndedError:
        return True  # somebody else removed it
    except EnvmillError as error:
        if isinstance(error.__cause__, APIError):
            return False
        raise
    return True
