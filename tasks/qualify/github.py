"""What the hosting service says of a repository: visibility, fork, archived, renames, pull requests. Corroboration only.

The service is asked only about repositories that are read from it, not about mirrored ones. Answers are kept in the lake
under `cache/github/`; a reached rate limit is kept there too, and nothing is asked until it is over. Where nothing can be
asked, the evidence is Git's alone, and says so.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlsplit

import requests
from pydantic import BaseModel, ValidationError

from blocks.lake import ObjectMissingError, ObjectStore
from blocks.records import Record
from blocks.settings import QualifySettings
from blocks.workshop import Workshop

if TYPE_CHECKING:
    from github import Github

KEPT = timedelta(days=30)
_FOLDER = "cache/github/"
_LIMITED = f"{_FOLDER}limited.json"
_TIMEOUT_SEC = 10
_MAX_TEXT = 4000
_HOST = "github.com"
AnyRecord = TypeVar("AnyRecord", bound=BaseModel)


class RepositoryFacts(Record):
    """A repository as the service describes it now (not at the start commit)."""

    full_name: str
    private: bool
    visibility: str | None
    fork: bool
    parent: str | None
    archived: bool
    default_branch: str
    licence: str | None
    """SPDX id; NOASSERTION where the service is not sure."""


class PullFacts(Record):
    """A pull request that a commit belongs to."""

    number: int
    title: str
    body: str
    merged: bool


class Asked(Record):
    """What the service said, or why nothing was heard of it."""

    facts: RepositoryFacts | None = None
    said: str
    asked_at: datetime | None = None


class Pulls(Record):
    """The pull requests of one commit."""

    pulls: tuple[PullFacts, ...] = ()
    asked_at: datetime | None = None


class Hosting(Protocol):
    """Facts about one repository. Nothing here raises: what cannot be had is said."""

    def repository(self) -> Asked:
        """The repository itself."""
        ...

    def pulls_of(self, commit: str) -> tuple[PullFacts, ...]:
        """Pull requests that hold the commit; empty where that cannot be told."""
        ...


class NotAsked:
    """No service, or none that may be asked."""

    def __init__(self, why: str) -> None:
        self.why = why

    def repository(self) -> Asked:
        """Says why."""
        return Asked(said=f"{self.why}: Git evidence alone")

    def pulls_of(self, commit: str) -> tuple[PullFacts, ...]:
        """None."""
        del commit
        return ()


class GitHub:
    """The GitHub API by PyGithub, for one repository; answers are kept in the lake."""

    def __init__(self, store: ObjectStore, name: str, settings: QualifySettings) -> None:
        """Nothing is asked yet. `name` is `owner/name`."""
        self._store = store
        self._name = name
        self._settings = settings
        self._folder = f"{_FOLDER}{hashlib.sha256(name.casefold().encode()).hexdigest()[:32]}/"

    def repository(self) -> Asked:
        """The repository, from the lake where it was asked not long ago."""
        key = f"{self._folder}repository.json"
        kept = _kept(self._store, key, Asked)
        if kept is not None and _is_fresh(kept.asked_at):
            return kept
        found = self._ask(self._facts)
        if isinstance(found, str):
            return kept or Asked(said=f"{found}: Git evidence alone")
        self._store.put(key, found.model_dump_json().encode())
        return found

    def pulls_of(self, commit: str) -> tuple[PullFacts, ...]:
        """The commit's pull requests, from the lake where they were asked not long ago."""
        key = f"{self._folder}pulls-{commit}.json"
        kept = _kept(self._store, key, Pulls)
        if kept is not None and _is_fresh(kept.asked_at):
            return kept.pulls
        found = self._ask(lambda: self._pulls(commit))
        if isinstance(found, str):
            return kept.pulls if kept else ()
        self._store.put(key, found.model_dump_json().encode())
        return found.pulls

    def _facts(self) -> Asked:
        from github import GithubException

        try:
            found = self._client().get_repo(self._name)
        except GithubException as error:
            if error.status != 404:
                raise
            return Asked(said=f"the service knows no public {self._name}", asked_at=datetime.now(UTC))
        facts = RepositoryFacts(
            full_name=found.full_name,
            private=bool(found.private),
            visibility=found.visibility,
            fork=bool(found.fork),
            parent=found.parent.full_name if found.fork and found.parent else None,
            archived=bool(found.archived),
            default_branch=found.default_branch,
            licence=found.license.spdx_id if found.license else None,
        )
        return Asked(facts=facts, said="the service was asked", asked_at=datetime.now(UTC))

    def _pulls(self, commit: str) -> Pulls:
        repository = self._client(lazy=True).get_repo(self._name)
        pulls = repository.get_commit(commit).get_pulls()
        found = tuple(
            PullFacts(
                number=pull.number,
                title=pull.title[:_MAX_TEXT],
                body=(pull.body or "")[:_MAX_TEXT],
                merged=pull.merged_at is not None,
            )
            for pull in pulls.get_page(0)[:5]
        )
        return Pulls(pulls=found, asked_at=datetime.now(UTC))

    def _client(self, *, lazy: bool = False) -> "Github":
        from github import Auth, Consts, Github

        token = self._settings.github_token
        auth = Auth.Token(token.get_secret_value()) if token else None
        # Its own retries would sleep until the limit is over, which may be an hour.
        url = self._settings.github_url or Consts.DEFAULT_BASE_URL
        return Github(base_url=url, auth=auth, timeout=_TIMEOUT_SEC, retry=None, per_page=30, lazy=lazy)

    def _ask(self, question: Callable[[], AnyRecord]) -> AnyRecord | str:
        """The answer, or why there is none."""
        from github import GithubException, RateLimitExceededException

        limited = _kept(self._store, _LIMITED, _Limited)
        if limited is not None and limited.until > datetime.now(UTC):
            return f"the service's rate limit is reached until {limited.until:%Y-%m-%d %H:%M} UTC"
        try:
            return question()
        except RateLimitExceededException as error:
            until = _reset(error.headers or {})
            self._store.put(_LIMITED, _Limited(until=until).model_dump_json().encode())
            return f"the service's rate limit is reached until {until:%Y-%m-%d %H:%M} UTC"
        except GithubException as error:
            return f"the service refused ({error.status})"
        except (requests.RequestException, ConnectionError, TimeoutError) as error:
            return f"the service could not be reached ({type(error).__name__})"


class _Limited(Record):
    until: datetime


def hosting_of(workshop: Workshop, repository: str) -> Hosting:
    """Who may be asked about a repository, given as its public address."""
    settings = workshop.settings.qualify
    parts = urlsplit(repository)
    if not settings.github_api:
        return NotAsked("qualify.github_api is off")
    if parts.hostname != _HOST and settings.github_url is None:
        return NotAsked(f"{parts.hostname} has no service that is known here")
    if settings.github_url is None and workshop.mirrors.source(repository).address != repository:
        return NotAsked("the repository is read from a mirror")
    return GitHub(workshop.store, parts.path.strip("/"), settings)


def _kept(store: ObjectStore, key: str, kind: type[AnyRecord]) -> AnyRecord | None:
    try:
        return kind.model_validate_json(store.get(key))
    except (ObjectMissingError, ValidationError):
        return None


def _is_fresh(moment: datetime | None) -> bool:
    return moment is not None and datetime.now(UTC) - moment < KEPT


def _reset(headers: dict[str, str]) -> datetime:
    """When the limit is over, as the answer's headers tell; a minute from now where they do not."""
    now = datetime.now(UTC)
    told = {name.lower(): value for name, value in headers.items()}
    if told.get("retry-after", "").isdigit():
        return now + timedelta(seconds=min(int(told["retry-after"]), 3600))
    if told.get("x-ratelimit-reset", "").isdigit():
        return min(datetime.fromtimestamp(int(told["x-ratelimit-reset"]), UTC), now + timedelta(hours=1))
    return now + timedelta(minutes=1)
