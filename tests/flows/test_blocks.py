import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from tests.flows.api import Api
from tests.flows.command import ROOT

pytestmark = pytest.mark.prefect


def test_blocks_go_to_the_server_and_come_back(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

    from blocks.prefect_blocks import EngineBlock, LakeBlock

    registered = subprocess.run(
        [sys.executable, "-m", "prefect", "block", "register", "-m", "blocks.prefect_blocks"],
        cwd=ROOT,
        env={**os.environ, "PREFECT_API_URL": api.url, "PREFECT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert registered.returncode == 0, registered.stdout + registered.stderr
    slugs = {kind["slug"] for kind in api.ask("block_types")}
    assert {"envmill-lake", "envmill-engine"} <= slugs

    lake = LakeBlock(
        bucket="mill",
        prefix="/team/",
        endpoint_url="https://s3.example.org",
        access_key_id=SecretStr("key"),
        secret_access_key=SecretStr("very secret"),
    )
    with temporary_settings({PREFECT_API_URL: api.url, PREFECT_HOME: tmp_path}):
        lake.save("production")
        EngineBlock(runtime="runsc", cpus=1.5).save("production")
        loaded = LakeBlock.load("production")
        engine = EngineBlock.load("production")

    assert isinstance(loaded, LakeBlock) and isinstance(engine, EngineBlock)
    assert loaded.url == "s3://mill/team"
    settings = loaded.to_settings()
    assert settings.endpoint_url == "https://s3.example.org"
    assert settings.secret_access_key is not None and settings.secret_access_key.get_secret_value() == "very secret"
    assert "very secret" not in f"{loaded!r} {loaded} {settings!r}"
    shown = httpx.get(f"{api.url}/block_types/slug/envmill-lake/block_documents/name/production", timeout=30)
    assert shown.json()["data"]["bucket"] == "mill"
    assert "very secret" not in shown.text
    assert (engine.to_settings().runtime, engine.to_settings().cpus, engine.to_settings().pids) == ("runsc", 1.5, 512)
