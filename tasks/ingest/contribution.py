"""One contribution: consent, then parsing, then redaction in memory. Everything wrong with it is a value."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from blocks.records import CandidateRow, ReasonCode, Record, RedactionRow
from blocks.session import Session
from tasks.ingest import cline, prompt
from tasks.ingest.consent import CONSENT, Consent, check_repository, check_session, read_consent
from tasks.ingest.inbox import InboxItem
from tasks.ingest.raw import clean
from tasks.ingest.redact import Redaction, SecretScanner, open_scanner, redact_sessions
from tasks.ingest.result import Candidate, IngestResult, Refusal, RefusedError

_LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".tsx": "typescript",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".hpp": "cpp",
    ".cs": "csharp",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".rb": "ruby",
    ".php": "php",
}


class Parsed(Record):
    """A session that was let in, and where its workspace lay."""

    session: Session
    roots: tuple[str, ...] = ()


Admission = Callable[[Consent], Parsed]


def ingest_contribution(
    item: InboxItem, *, scanner: SecretScanner | None = None, now: datetime | None = None
) -> IngestResult:
    """Judge, parse and redact one contribution. Reads files and writes nothing; raises nothing for bad input.

    Args:
        item: the contribution.
        scanner: the kept secret scanner; opened here where none is given.
        now: the moment consent must be valid at.

    Returns:
        Candidates and refusals; where there is no candidate there is at least one refusal.
    """
    moment = now or datetime.now(UTC)
    source: str | None = None
    try:
        source = _source(item.folder)
        if source is None and not _holds_content(item.folder):
            raise RefusedError(ReasonCode.FOLDER_EMPTY, f"{item.name}: the folder is empty; put a contribution in it")
        consent = read_consent(item.folder, moment)
        admissions = _admissions(item.folder)
    except RefusedError as error:
        return _result(item, source, (), (error.refusal(),))
    except OSError as error:
        fault = f"{item.name} cannot be listed ({error.strerror}); check its permissions"
        return _result(item, source, (), (Refusal(reason_code=ReasonCode.FILE_UNREADABLE, message=fault),))
    parsed: list[Parsed] = []
    refusals: list[Refusal] = []
    for session_id, admit in admissions:
        try:
            parsed.append(admit(consent))
        except RefusedError as error:
            refusals.append(error.refusal(session_id))
    if not parsed:
        return _result(item, source, (), tuple(refusals))
    try:
        redacted = redact_sessions(
            [entry.session for entry in parsed], [entry.roots for entry in parsed], scanner or open_scanner()
        )
    except RefusedError as error:
        return _result(item, source, (), (*refusals, error.refusal()))
    candidates = tuple(_candidate(item, redaction, consent, moment) for redaction in redacted)
    return _result(item, source, candidates, tuple(refusals))


def candidate_id(session: Session) -> str:
    """The id of a redacted session: the same session of the same contributor always gets the same."""
    parts = [session.repository, session.start_commit, session.prompt, session.session_id]
    return f"c-{hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:16]}"


def _source(folder: Path) -> str | None:
    """What the folder holds, by the names of its files; None where that is unknown."""
    if cline.find_task_folders(folder):
        return cline.SOURCE
    return prompt.SOURCE if prompt.is_prompt(folder) else None


def _admissions(folder: Path) -> Sequence[tuple[str | None, Admission]]:
    """The sessions of the contribution, each with what lets it in: nothing of them has been read yet."""
    tasks = cline.find_task_folders(folder)
    if tasks:
        return [(task.session_id, _cline_admission(task)) for task in tasks]
    if prompt.is_prompt(folder):
        return [(None, _prompt_admission(folder))]
    names = ", ".join(clean(path.name) for path in sorted(folder.iterdir())[:5])
    raise RefusedError(
        ReasonCode.FORMAT_UNKNOWN,
        f"{clean(folder.name)} is neither a Cline export (tasks/<id>/) nor a bare prompt (prompt.md and "
        f"contribution.json); it holds {names}",
    )


def _cline_admission(task: cline.TaskFolder) -> Admission:
    def admit(consent: Consent) -> Parsed:
        check_session(consent, task.session_id)
        identity = cline.identify(task)
        check_repository(consent, identity.repository)
        return Parsed(session=cline.read_session(task), roots=identity.roots)

    return admit


def _prompt_admission(folder: Path) -> Admission:
    def admit(consent: Consent) -> Parsed:
        place = prompt.read_place(folder)
        check_repository(consent, place.repository)
        text = prompt.read_prompt(folder)
        check_session(consent, prompt.prompt_session_id(text))
        return Parsed(session=prompt.prompt_session(text, place))

    return admit


def _candidate(item: InboxItem, redaction: Redaction, consent: Consent, moment: datetime) -> Candidate:
    session = redaction.session
    identity = candidate_id(session)
    row = CandidateRow(
        candidate_id=identity,
        contribution_id=item.contribution_id,
        source=session.source,
        repository=session.repository,
        start_commit=session.start_commit,
        start_fidelity=1.0 if session.source == prompt.SOURCE else None,
        instruction=session.prompt,
        language=_language(session),
        created_at=moment,
        consent_scopes=",".join(sorted(consent.scopes)),
    )
    counts = tuple(
        RedactionRow(candidate_id=identity, rule=rule, count=count) for rule, count in redaction.counts.items()
    )
    return Candidate(row=row, redactions=counts, session=session)


def _language(session: Session) -> str | None:
    """The language of most files the session read or edited; None where none is known."""
    paths = {seen.path for seen in session.seen_files} | {edit.path for edit in session.edits}
    known = Counter(
        language for path in sorted(paths) if (language := _LANGUAGES.get(PurePosixPath(path).suffix.lower()))
    )
    return next((language for language, _ in known.most_common(1)), None)


def _holds_content(folder: Path) -> bool:
    """Whether there is any file beside the consent record."""
    files = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return any(path != folder / CONSENT for path in files)


def _result(
    item: InboxItem, source: str | None, candidates: tuple[Candidate, ...], refusals: tuple[Refusal, ...]
) -> IngestResult:
    return IngestResult(contribution_id=item.contribution_id, source=source, candidates=candidates, refusals=refusals)
