"""The scan of one environment image: which layers are looked through, and what for."""

from pydantic import TypeAdapter

from blocks.engine import Engine
from blocks.engine.images import LayerSize
from blocks.lake import ObjectMissingError, ObjectStore
from blocks.recipe import Recipe
from blocks.settings import Settings
from blocks.trees import Tree
from tasks.containerize.fingerprints import Fingerprints
from tasks.containerize.leaks import LeakHit, scan_layers
from tasks.containerize.machine_traces import extra_certificates

_SIZES = TypeAdapter(tuple[LayerSize, ...])


def scan_image(
    engine: Engine,
    store: ObjectStore,
    settings: Settings,
    image: str,
    prints: Fingerprints,
    *,
    below: str,
    recipe: Recipe,
    repository: str,
    end_commit: str | None,
    start: Tree,
) -> list[LeakHit]:
    """Scan what an image has on top of `below`, an image that was made before any repository was known."""
    return scan_layers(
        engine.save_layers(image, known_layers(engine, store, below)),
        prints,
        project=recipe.project_name,
        before=recipe.last_release,
        remotes=[repository],
        secrets=[end_commit] if end_commit else [],
        certificates=extra_certificates(settings),
        start=start,
    )


def known_layers(engine: Engine, store: ObjectStore, image: str) -> tuple[LayerSize, ...]:
    """The layers of an image; read once, then kept under the image's id."""
    image_id = engine.image_id(image) or image
    key = f"images/{image_id.removeprefix('sha256:')}/layers.json"
    try:
        return _SIZES.validate_json(store.get(key))
    except ObjectMissingError:
        sizes = engine.layer_sizes(image)
        store.put_if_absent(key, _SIZES.dump_json(sizes))
        return sizes
