"""The demo on a real S3 store that fails twice for 20 seconds in the middle: it answers nobody, and it is killed."""

import secrets
import time
from pathlib import Path

import pytest

from blocks.engine import Engine
from blocks.lake import open_store
from blocks.lake.lease import LeaseRecord
from tests.flows.api import Api
from tests.flows.command import SAMPLE_CONFIG, Command, containers_of, wait_for_role
from tests.flows.conftest import Demo
from tests.flows.undisturbed import differences
from tests.s3server import running_s3

pytestmark = [pytest.mark.engine, pytest.mark.prefect, pytest.mark.s3, pytest.mark.slow]

OUTAGE_SEC = 20


def test_a_store_that_fails_for_a_while(demo: Demo, api: Api, engine: Engine, tmp_path: Path) -> None:
    with running_s3(tmp_path / "s3") as server:
        keys = server.settings
        assert keys.access_key_id and keys.secret_access_key
        command = Command(
            tmp_path / "home",
            {
                "ENVMILL_CONFIG": str(SAMPLE_CONFIG),
                "PREFECT_API_URL": api.url,
                "ENVMILL_LAKE": f"s3://{server.bucket}/{secrets.token_hex(4)}",
                "ENVMILL_S3__ENDPOINT_URL": server.endpoint_url,
                "ENVMILL_S3__REGION": str(keys.region),
                "ENVMILL_S3__ACCESS_KEY_ID": keys.access_key_id.get_secret_value(),
                "ENVMILL_S3__SECRET_ACCESS_KEY": keys.secret_access_key.get_secret_value(),
            },
        )
        with command.started("demo") as process:
            wait_for_role(engine, process, "subject")
            server.weed.freeze()
            time.sleep(OUTAGE_SEC)
            server.weed.thaw()
            wait_for_role(engine, process, "grader")
            server.weed.kill()
            time.sleep(OUTAGE_SEC)
            server.weed.start()
            out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
        assert "Traceback" not in out + err
        assert "rewards: nop 0, oracle 1, replay 0" in out

        assert differences(demo.command.home, command.home, tmp_path) == []
        store = open_store(command.settings())
        found = [info.key for info in store.list()]
        manifests = [key.split("/")[:3] for key in found if key.endswith("/manifest.json")]
        assert len(manifests) == len({tuple(parts) for parts in manifests}) == 8, "a phase was committed twice"
        held = [
            key
            for key in found
            if key.startswith("leases/") and not LeaseRecord.model_validate_json(store.get(key)).released
        ]
        assert held == []
        assert containers_of(engine, process.pid) == []
