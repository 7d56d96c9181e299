"""Bare prompts: a prompt, the public repository and the commit it is about, without a session.

The folder holds `prompt.md`, `contribution.json` ({"repository", "commit"}) and `consent.json`.
"""

import hashlib
import re
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

from blocks.errors import UsageError
from blocks.records import ReasonCode, Record
from blocks.repositories import normalise
from blocks.session import CommitSighting, Intervention, Session, Speaker, Step
from tasks.ingest.consent import CONSENT, Scope, grant
from tasks.ingest.raw import as_map, as_text, read_json, read_text
from tasks.ingest.result import RefusedError

SOURCE = "prompt"
PROMPT = "prompt.md"
CONTRIBUTION = "contribution.json"
_COMMIT = re.compile(r"^[0-9a-f]{40}$")


class PromptPlace(Record):
    """What `contribution.json` says."""

    repository: str
    commit: str


def is_prompt(folder: Path) -> bool:
    """Whether the folder is meant as a bare prompt contribution."""
    return (folder / PROMPT).exists() or (folder / CONTRIBUTION).exists()


def prompt_session_id(prompt: str) -> str:
    """The id a consent record names a bare prompt by."""
    return f"p-{hashlib.sha256(prompt.strip().encode()).hexdigest()[:16]}"


def read_place(folder: Path) -> PromptPlace:
    """Repository and commit.

    Raises:
        RefusedError: file_unreadable, repository_unknown, start_commit_unknown.
    """
    fields = as_map(read_json(folder / CONTRIBUTION, CONTRIBUTION))
    try:
        repository = normalise(as_text(fields.get("repository")))
    except UsageError:
        raise RefusedError(
            ReasonCode.REPOSITORY_UNKNOWN,
            f"{CONTRIBUTION}: `repository` is not an address of a public repository; use https://host/owner/name",
        ) from None
    commit = as_text(fields.get("commit")).lower()
    if not _COMMIT.match(commit):
        raise RefusedError(
            ReasonCode.START_COMMIT_UNKNOWN, f"{CONTRIBUTION}: `commit` is not a full commit id of 40 hex digits"
        )
    return PromptPlace(repository=repository, commit=commit)


def read_prompt(folder: Path) -> str:
    """The prompt's text.

    Raises:
        RefusedError: file_unreadable, prompt_empty.
    """
    text = read_text(folder / PROMPT, PROMPT).strip()
    if not text:
        raise RefusedError(ReasonCode.PROMPT_EMPTY, f"{PROMPT} is empty; write what the agent is asked to do")
    return text


def prompt_session(prompt: str, place: PromptPlace) -> Session:
    """A session of one step."""
    return Session(
        source=SOURCE,
        session_id=prompt_session_id(prompt),
        repository=place.repository,
        start_commit=place.commit,
        start_evidence=f"named in {CONTRIBUTION}",
        steps=(Step(index=0, speaker=Speaker.USER, text=prompt, intervention=Intervention.PROMPT),),
        sightings=(CommitSighting(step=0, repository=place.repository, commit=place.commit),),
    )


def write_prompt_contribution(
    inbox: Path,
    *,
    repository: str,
    commit: str,
    prompt: str,
    contributor: str,
    scopes: tuple[Scope, ...],
    now: datetime,
) -> Path:
    """Write a bare prompt contribution with its consent record and return its folder; the same one again is left as is.

    Args:
        inbox: made where it is missing.
        repository: an address of a public repository.
        commit: full commit id.
        prompt: what the agent is asked to do.
        contributor: any id of the contributor; only its sha256 is kept.
        scopes: what the contributor agreed to after reading `consent.statement_text()`.
        now: when that was.

    Raises:
        UsageError: empty prompt, no full commit id, no public repository, or no scope.
    """
    text = prompt.strip()
    if not text:
        raise UsageError("the prompt is empty; write what the agent is asked to do")
    if not _COMMIT.match(commit.lower()):
        raise UsageError("the commit is not a full commit id of 40 hex digits; `git rev-parse <ref>` prints it")
    if not contributor.strip():
        raise UsageError("the contributor is empty; give an id, only its hash is kept")
    if Scope.PUBLISH_ENVIRONMENT not in scopes:
        raise UsageError(f"scope {Scope.PUBLISH_ENVIRONMENT} is not given; without it no environment may be made")
    place = PromptPlace(repository=normalise(repository), commit=commit.lower())
    session_id = prompt_session_id(text)
    consent = grant(
        contributor=contributor, repository=place.repository, sessions=(session_id,), scopes=scopes, now=now
    )
    key = hashlib.sha256(f"{place.repository}\n{place.commit}\n{session_id}".encode()).hexdigest()[:16]
    folder = inbox / f"prompt-{key}"
    if folder.exists():
        return folder
    inbox.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=inbox))
    try:
        (draft / PROMPT).write_text(text + "\n", encoding="utf-8")
        (draft / CONTRIBUTION).write_text(place.model_dump_json(indent=2) + "\n", encoding="utf-8")
        (draft / CONSENT).write_text(consent.model_dump_json(indent=2) + "\n", encoding="utf-8")
        draft.chmod(0o755)
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return folder
