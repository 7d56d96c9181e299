from collections.abc import Iterator

import pytest

from blocks.settings import Settings
from flows.server import prefect_server
from tests.flows.api import Api
from tests.flows.command import ROOT, SAMPLE_CONFIG, Command, Done


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One Prefect server for all tests that do not ask whether a command brings its own."""
    with prefect_server(Settings(home=tmp_path_factory.mktemp("prefect"))) as server:
        yield Api(server.api_url)


@pytest.fixture
def envmill(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command with an empty home."""
    return Command(tmp_path_factory.mktemp("home"), {"PREFECT_API_URL": api.url})


@pytest.fixture(scope="session")
def demo(python_image: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, Done]:
    """`envmill demo` in a new home, with a server of its own: what `make demo` runs on a fresh machine."""
    assert ROOT.is_dir() and python_image
    command = Command(tmp_path_factory.mktemp("demo") / "home", {"ENVMILL_CONFIG": str(SAMPLE_CONFIG)})
    done = command("demo")
    assert done.code == 0, done.said
    return command, done
