from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from blocks.engine import Engine
from blocks.settings import Settings
from flows.server import prefect_server
from tests.flows.api import Api, prefect
from tests.flows.command import SAMPLE_CONFIG, Command, Done, watched_starts


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One Prefect server for all tests that do not ask whether a command brings its own."""
    with prefect_server(Settings(home=tmp_path_factory.mktemp("prefect"))) as server:
        yield Api(server.api_url)


@pytest.fixture
def envmill(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command with an empty home."""
    return Command(tmp_path_factory.mktemp("home"), {"PREFECT_API_URL": api.url})


@dataclass(frozen=True)
class Demo:
    """A home in which `envmill demo` has run once."""

    command: Command
    done: Done
    starts: int
    """Containers it started, as the engine tells."""


@pytest.fixture(scope="session")
def demo(engine: Engine, python_image: str, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """`envmill demo` in a new home, with a server of its own: what `make demo` runs on a fresh machine."""
    assert python_image
    command = Command(tmp_path_factory.mktemp("demo") / "home", {"ENVMILL_CONFIG": str(SAMPLE_CONFIG)})
    with watched_starts(engine) as starts:
        done = command("demo")
        assert done.code == 0, done.said
        return Demo(command, done, starts(done))


@pytest.fixture(scope="session")
def deployed(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Api:
    """The server with everything of prefect.yaml deployed."""
    home = tmp_path_factory.mktemp("prefect-home")
    prefect(api, home, ["work-pool", "create", "--type", "process", "process"])
    prefect(api, home, ["deploy", "--all"])
    return api
