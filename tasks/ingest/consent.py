"""Consent: without a valid record nothing of a contribution is taken. See docs/consent.md for the record's form."""

import hashlib
import json
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, ValidationError

from blocks.errors import UsageError
from blocks.records import ReasonCode, Record
from blocks.repositories import normalise
from tasks.ingest.raw import read_text
from tasks.ingest.result import RefusedError

CONSENT = "consent.json"
STATEMENT_VERSION = "1"
STATEMENTS = Path(__file__).resolve().parents[2] / "data" / "consent"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Scope(StrEnum):
    """What a contributor allows."""

    PUBLISH_ENVIRONMENT = "publish_environment"
    PUBLISH_TRACE = "publish_trace"
    EVALUATE = "evaluate"
    TRAIN = "train"


class Statement(Record):
    """The words the contributor agreed to. `sha256` is over the UTF-8 bytes of `text`."""

    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,31}$")
    text: str = Field(min_length=1)
    sha256: Sha256


class Consent(Record):
    """A contributor's record. `sessions` and `repository` say what it covers."""

    schema_version: Literal[1]
    contributor: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    statement: Statement
    scopes: tuple[Scope, ...] = Field(min_length=1)
    repository: str
    sessions: tuple[str, ...] = Field(min_length=1)
    granted_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None


def read_consent(folder: Path, now: datetime) -> Consent:
    """The contribution's consent record, valid at `now` and for publishing an environment.

    Raises:
        RefusedError: consent_missing, consent_invalid, consent_expired, or consent_mismatch (a scope is lacking).
    """
    path = folder / CONSENT
    if not path.exists() and not path.is_symlink():
        raise RefusedError(ReasonCode.CONSENT_MISSING, f"{CONSENT} is missing; add a consent record (docs/consent.md)")
    consent = _parse(path)
    if hashlib.sha256(consent.statement.text.encode()).hexdigest() != consent.statement.sha256:
        raise _invalid("statement.sha256 is not the hash of statement.text", "sign the statement again")
    published = _published(consent.statement.version)
    if published is not None and published != consent.statement.text.strip():
        raise _invalid(
            f"statement.text is not what version {consent.statement.version} says", "sign the published statement"
        )
    if consent.granted_at > now:
        raise _invalid("granted_at lies in the future", "correct the date")
    if consent.revoked_at is not None:
        raise RefusedError(
            ReasonCode.CONSENT_EXPIRED, f"{CONSENT}: consent was revoked; the contribution must be removed"
        )
    if consent.expires_at is not None and consent.expires_at <= now:
        raise RefusedError(
            ReasonCode.CONSENT_EXPIRED, f"{CONSENT}: consent has expired; ask the contributor to renew it"
        )
    if Scope.PUBLISH_ENVIRONMENT not in consent.scopes:
        raise RefusedError(
            ReasonCode.CONSENT_MISMATCH,
            f"{CONSENT}: scope {Scope.PUBLISH_ENVIRONMENT} is not given; without it no environment may be made",
        )
    return consent


def check_session(consent: Consent, session_id: str) -> None:
    """Raises RefusedError consent_mismatch where the consent does not name this session."""
    if session_id not in consent.sessions:
        raise RefusedError(
            ReasonCode.CONSENT_MISMATCH,
            f"{CONSENT}: session {session_id} is not among `sessions`; ask the contributor to cover it or take it out",
        )


def check_repository(consent: Consent, repository: str) -> None:
    """Raises RefusedError consent_mismatch where the consent is for another repository; hosts treat case as one."""
    try:
        covered = normalise(consent.repository)
    except UsageError:
        raise _invalid("repository is not an address of a public repository", "use https://host/owner/name") from None
    if covered.casefold() != repository.casefold():
        raise RefusedError(
            ReasonCode.CONSENT_MISMATCH,
            f"{CONSENT} covers {covered}, but the session is about {repository}; ask for consent for that repository",
        )


def consent_schema() -> str:
    """The record's JSON schema, as data/schemas/consent.schema.json holds it."""
    return json.dumps(Consent.model_json_schema(), indent=2, sort_keys=True) + "\n"


def statement_text() -> str:
    """The statement a contributor is shown and agrees to."""
    return (STATEMENTS / f"statement-{STATEMENT_VERSION}.txt").read_text(encoding="utf-8").strip()


def grant(
    *, contributor: str, repository: str, sessions: tuple[str, ...], scopes: tuple[Scope, ...], now: datetime
) -> Consent:
    """A new record for the current statement. The contributor's id is kept only as a hash."""
    text = statement_text()
    return Consent(
        schema_version=1,
        contributor=f"sha256:{hashlib.sha256(contributor.encode()).hexdigest()}",
        statement=Statement(version=STATEMENT_VERSION, text=text, sha256=hashlib.sha256(text.encode()).hexdigest()),
        scopes=scopes,
        repository=repository,
        sessions=sessions,
        granted_at=now.astimezone(UTC),
    )


def _published(version: str) -> str | None:
    path = STATEMENTS / f"statement-{version}.txt"
    return path.read_text(encoding="utf-8").strip() if path.is_file() else None


def _parse(path: Path) -> Consent:
    try:
        return Consent.model_validate_json(read_text(path, CONSENT))
    except RefusedError as error:
        raise RefusedError(ReasonCode.CONSENT_INVALID, str(error)) from None
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'file'}: {item['msg']}" for item in error.errors()[:5])
        raise _invalid(faults, "correct the record (docs/consent.md)") from None


def _invalid(fault: str, mend: str) -> RefusedError:
    return RefusedError(ReasonCode.CONSENT_INVALID, f"{CONSENT}: {fault}; {mend}")
