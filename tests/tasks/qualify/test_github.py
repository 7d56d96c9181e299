"""The GitHub API, over real HTTP to a server on loopback: answers are kept, limits respected, and nothing raises."""

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from blocks.lake import ObjectStore
from blocks.settings import QualifySettings, Settings
from blocks.workshop import Workshop
from tasks.qualify.github import GitHub, NotAsked, hosting_of

REPOSITORY = {
    "id": 1, "name": "teapot", "full_name": "drinks/teapot", "private": False, "visibility": "public", "fork": True,
    "parent": {"id": 2, "name": "kettle", "full_name": "metal/kettle"}, "archived": True, "default_branch": "main",
    "license": {"key": "mit", "spdx_id": "MIT", "name": "MIT License"}, "url": "http://127.0.0.1/repos/drinks/teapot",
}  # fmt: skip
PULL = {"id": 3, "number": 78, "title": "Whistle", "body": "Closes #77", "merged_at": "2026-01-01T00:00:00Z"}


class Service:
    """A small API: what it answers, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.tokens: list[str | None] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service.asked.append(self.path)
                service.tokens.append(self.headers.get("Authorization"))
                body: object = (
                    {"message": "API rate limit exceeded for you"} if service.status == 403 else {"message": "no"}
                )
                if service.status == 200:
                    body = (
                        [PULL]
                        if "/pulls" in self.path
                        else {"sha": "a" * 40, "url": ""}
                        if "/commits/" in self.path
                        else REPOSITORY
                    )
                content = json.dumps(body).encode()
                self.send_response(service.status)
                for name, value in {"Content-Type": "application/json", **service.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.server.shutdown()
    running.server.server_close()
    running.thread.join()


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return Workshop(Settings(home=tmp_path)).store


def _github(store: ObjectStore, service: Service, **more: object) -> GitHub:
    settings = QualifySettings.model_validate({"github_url": service.url, **more})
    return GitHub(store, "tea/kettle", settings)


def test_facts_are_asked_once_and_kept(service: Service, store: ObjectStore) -> None:
    facts = _github(store, service, github_token="t0ken").repository().facts
    assert facts is not None
    assert (facts.full_name, facts.fork, facts.parent, facts.archived) == ("drinks/teapot", True, "metal/kettle", True)
    assert (facts.licence, facts.visibility, facts.private) == ("MIT", "public", False)
    assert service.tokens == ["token t0ken"]
    assert _github(store, service).repository().facts == facts
    assert len(service.asked) == 1
    assert not any("t0ken" in store.get(info.key).decode() for info in store.list("cache/"))


def test_pull_requests_of_a_commit(service: Service, store: ObjectStore) -> None:
    pulls = _github(store, service).pulls_of("a" * 40)
    assert [(pull.number, pull.body, pull.merged) for pull in pulls] == [(78, "Closes #77", True)]
    asked = len(service.asked)
    assert _github(store, service).pulls_of("a" * 40) == pulls
    assert len(service.asked) == asked


def test_a_reached_limit_is_respected_until_it_is_over(service: Service, store: ObjectStore) -> None:
    service.status, service.headers = (
        403,
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 600)},
    )
    told = _github(store, service).repository()
    assert told.facts is None and "rate limit" in told.said and "Git evidence alone" in told.said
    asked = len(service.asked)
    service.status = 200
    assert "rate limit" in _github(store, service).repository().said
    assert _github(store, service).pulls_of("b" * 40) == ()
    assert len(service.asked) == asked
    assert not [info for info in store.list("cache/github/") if info.key.endswith("repository.json")]


@pytest.mark.parametrize(("status", "said"), [(500, "refused (500)"), (404, "knows no public tea/kettle")])
def test_refusals_are_said(status: int, said: str, service: Service, store: ObjectStore) -> None:
    service.status = status
    told = _github(store, service).repository()
    assert told.facts is None and said in told.said


def test_without_a_network_it_is_git_alone_and_says_so(service: Service, store: ObjectStore) -> None:
    service.server.shutdown()
    service.server.server_close()
    told = _github(store, service).repository()
    assert told.facts is None and "could not be reached" in told.said and "Git evidence alone" in told.said


def test_mirrored_repositories_are_not_asked_about(tmp_path: Path) -> None:
    mirrored = Workshop(Settings(home=tmp_path, mirrors={"https://github.com/": str(tmp_path)}))
    for workshop, repository in (
        (mirrored, "https://github.com/tea/kettle"),
        (Workshop(Settings(home=tmp_path)), "https://gitlab.com/tea/kettle"),
        (Workshop(Settings(home=tmp_path, qualify=QualifySettings(github_api=False))), "https://github.com/tea/kettle"),
    ):
        hosting = hosting_of(workshop, repository)
        assert isinstance(hosting, NotAsked)
        assert "Git evidence alone" in hosting.repository().said
    assert isinstance(hosting_of(Workshop(Settings(home=tmp_path)), "https://github.com/tea/kettle"), GitHub)
