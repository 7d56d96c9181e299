"""The page of a verdict in Prefect, from a real server: why the candidate fell, as `envmill show` tells it."""

import asyncio
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.settings import PREFECT_API_URL, temporary_settings

from blocks.phases import load_chain
from blocks.records import Phase
from flows.qualify import qualify
from flows.server import prefect_server
from tasks.qualify.phase import QUALIFY
from tests.tasks.qualify.kettle import Kettle, prompt_session
from tests.tasks.qualify.test_review import CANDIDATE, Desk

pytestmark = [pytest.mark.prefect, pytest.mark.slow]


async def _page(key: str) -> str:
    async with get_client() as client:
        found = await client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key])))
    assert [artifact.type for artifact in found] == ["markdown"]
    return str(found[0].data)


def test_a_candidate_that_falls_has_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path / "home", kettle := Kettle(tmp_path / "kettle"), prompt_session(kettle.start))
    config = tmp_path / "envmill.toml"
    config.write_text(
        f'home = "{desk.settings.home}"\n[mirrors]\n"{next(iter(desk.settings.mirrors))}" = "{kettle.history.folder}"\n'
    )
    monkeypatch.setenv("ENVMILL_CONFIG", str(config))
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    _, key = load_chain(desk.workshop.store, desk.settings, CANDIDATE, (QUALIFY,))
    assert key is not None and key.phase is Phase.QUALIFY
    with prefect_server(desk.settings) as server, temporary_settings({PREFECT_API_URL: server.api_url}):
        state = asyncio.run(qualify(key, "kettle-0000", return_state=True))
        page = asyncio.run(_page(f"qualify-{CANDIDATE}"))
    assert state.is_completed() and "outcome_not_found" in (state.message or "")
    assert "| ✗ outcome | fail | `outcome_not_found` | rules |" in page
    assert "| ✓ origin | pass | `ok` | rules |" in page
