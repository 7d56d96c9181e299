"""The Node.js images: what suites and native packages need, and nothing of how they were fetched."""

import pytest

from blocks.engine import ContainerSpec, Engine, Role
from blocks.engine.node_runtime import NODE_VERSIONS, ensure_node_runtime
from blocks.engine.outbound import ca_bundle
from blocks.engine.raw import inspect_image
from blocks.settings import Settings
from tests.blocks.engine.test_images import files_of

pytestmark = pytest.mark.engine

SCRIPT = """
    set -e; test -z "$(ls -A /tmp)"
    node --version; npm --version | cut -d. -f1; ! command -v git; id -un; pwd
    test -f /usr/local/include/node/node.h; command -v gcc make python3 >/dev/null
    cd /app && printf '{"scripts":{"x":"node -p 1+1"}}' > package.json && npm run -s x
"""


def test_the_node_image_has_what_suites_need_and_no_trace_of_this_machine(
    engine: Engine, engine_settings: Settings
) -> None:
    assert ensure_node_runtime(engine, engine_settings, "12") is None
    reference = ensure_node_runtime(engine, engine_settings, "24")
    assert reference is not None and ensure_node_runtime(engine, engine_settings, "24") == reference
    with engine.container(ContainerSpec(image=reference, role=Role.SUBJECT, workdir="/app", deadline_sec=120)) as box:
        done = box.run(["bash", "-c", SCRIPT], timeout_sec=60)
    assert done.ok, done.output
    assert done.output.split() == [f"v{NODE_VERSIONS['24']}", "10", "agent", "/app", "2"]
    bundle = ca_bundle(engine_settings)
    own = bundle.read_bytes() if bundle else None
    found = files_of(engine, reference)
    assert not [name for name, body in found.items() if own and own in body]
    assert not [name for name in found if "_cacache" in name or (name.endswith(".npmrc") and "/npm/" not in name)]
    assert not [one for one in inspect_image(engine.api, reference)["Config"]["Env"] if "CERT" in one or "proxy" in one]
