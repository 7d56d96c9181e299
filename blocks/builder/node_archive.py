"""The Node.js of a runtime image as one archive in the package store, so that a published task can bring it along."""

import json

from blocks.builder.packages import keep_package
from blocks.engine import ContainerSpec, Engine, Role
from blocks.engine.node_runtime import NODE_VERSIONS
from blocks.errors import TransientError
from blocks.lake import ObjectMissingError, ObjectStore
from blocks.recipe import Package

RUNTIME_PACKAGE = "node"
RUNTIME_FILENAME = "node-runtime.tar.gz"
_PARTS = ("bin/node", "bin/npm", "bin/npx", "lib/node_modules/npm", "include/node")
_MOST_BYTES = 512 << 20
_PACK = f"""
tar --sort=name --mtime=@315619200 --owner=0 --group=0 --numeric-owner -C /usr/local -cf - {" ".join(_PARTS)} |
gzip -6 -n > /root/{RUNTIME_FILENAME}
"""
_VERSION = 1


def keep_node_runtime(engine: Engine, store: ObjectStore, version: str, runtime_image: str) -> Package:
    """node, npm and the headers of the image, relative to /usr/local; packed once for each image, then known.

    Raises:
        TransientError: the container did not do it.
    """
    image_id = (engine.image_id(runtime_image) or runtime_image).removeprefix("sha256:")
    key = f"images/{image_id}/node-{_VERSION}.json"
    try:
        return Package.model_validate_json(store.get(key))
    except ObjectMissingError:
        pass
    with engine.container(ContainerSpec(image=runtime_image, role=Role.BUILD, deadline_sec=300)) as box:
        done = box.run(["sh", "-c", _PACK], user="root", timeout_sec=240)
        content = box.get_file(f"/root/{RUNTIME_FILENAME}", max_bytes=_MOST_BYTES) if done.ok else None
    if not content:
        raise TransientError(f"packing the Node.js of {runtime_image} failed: {done.output[-500:]}")
    package = keep_package(store, RUNTIME_PACKAGE, NODE_VERSIONS[version], RUNTIME_FILENAME, content)
    store.put_if_absent(key, json.dumps(package.model_dump(mode="json")).encode())
    return package
