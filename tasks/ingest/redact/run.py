"""Redacts all sessions of one contribution together, until a second look finds nothing."""

import re
from collections import Counter
from collections.abc import Sequence

from blocks.records import ReasonCode, Record
from blocks.session import Session
from tasks.ingest.redact.personal import find_personal
from tasks.ingest.redact.placeholders import PERSONAL, Placeholders
from tasks.ingest.redact.rules import Rules, load_rules
from tasks.ingest.redact.scanner import Finding, SecretScanner
from tasks.ingest.redact.secrets import encodes, find_secrets, variants, views, visible
from tasks.ingest.redact.texts import rewrite, texts_of
from tasks.ingest.result import RefusedError

ROUNDS = 8
_IMAGE = re.compile(r"data:image/[a-z+.-]{1,20};base64,[A-Za-z0-9+/=]{100,}")


class Redaction(Record):
    """A redacted session, and how often each rule replaced something in it."""

    session: Session
    counts: dict[str, int]


def redact_sessions(
    sessions: Sequence[Session], roots: Sequence[Sequence[str]], scanner: SecretScanner
) -> list[Redaction]:
    """Redact the sessions of one contribution.

    Args:
        sessions: as parsed.
        roots: for each session the absolute paths of its workspace; in what was said and printed they become relative.
        scanner: the kept secret scanner.

    Raises:
        RefusedError: scanner_failed; the scanner does not work, or something is still found after several rounds.
    """
    rules = load_rules()
    counts = [Counter[str]() for _ in sessions]
    current = [_placed(session, places, count) for session, places, count in zip(sessions, roots, counts, strict=True)]
    table = Placeholders()
    owners = {part.casefold() for session in sessions for part in session.repository.split("/")[3:]}
    known: set[Finding] = set()
    for _ in range(ROUNDS):
        findings = _find(current, table, rules, scanner)
        if not findings and not any(table.left_in(text) for session in current for text in texts_of(session)):
            return [
                Redaction(session=session, counts=dict(sorted(count.items())))
                for session, count in zip(current, counts, strict=True)
            ]
        for finding in findings:
            _learn(finding, table, rules, owners, missed=finding in known)
        known |= set(findings)
        current = [_replaced(session, table, count) for session, count in zip(current, counts, strict=True)]
    raise RefusedError(
        ReasonCode.SCANNER_FAILED,
        f"something secret is still found after {ROUNDS} rounds of redaction; remove secrets by hand and hand in again",
    )


def _find(sessions: Sequence[Session], table: Placeholders, rules: Rules, scanner: SecretScanner) -> list[Finding]:
    """Everything that may not be stored, in an order that does not change from run to run."""
    found: dict[Finding, None] = {}
    secrets = table.secrets()
    for text in dict.fromkeys(visible(text) for session in sessions for text in texts_of(session) if text):
        found |= dict.fromkeys(find_secrets(text, rules, scanner))
        found |= dict.fromkeys(encodes(text, secrets))
        for view in views(text):
            found |= dict.fromkeys(find_personal(view, rules))
    return list(found)


def _learn(finding: Finding, table: Placeholders, rules: Rules, owners: set[str], *, missed: bool) -> None:
    """Add a finding to the table; one that the last round did not reach in its context is replaced everywhere."""
    if finding.rule in ("user", "host"):
        distinctive = _is_name(finding, rules, owners)
    elif finding.rule == "name":
        distinctive = " " in finding.value
    elif finding.rule in PERSONAL:
        distinctive = True
    else:
        distinctive = _is_distinctive(finding.value)
    if distinctive or missed:
        table.everywhere(finding.rule, finding.value, variants(finding.value))
    else:
        table.in_context(finding.rule, finding.value, finding.context)


def _is_distinctive(value: str) -> bool:
    """Whether the value can be replaced wherever it stands without hitting words that mean something else."""
    if len(value) >= 20:
        return True
    if re.fullmatch(r"[a-z_.-]+|[A-Z_.-]+|[0-9.]+", value):
        return False
    return len(value) >= 8 or (len(value) >= 6 and bool(re.search(r"[0-9]", value)))


def _is_name(finding: Finding, rules: Rules, owners: set[str]) -> bool:
    """Whether a user or host is replaced as a word; not where it is a common word or the repository's public identity."""
    word = finding.value.casefold()
    return len(word) >= 4 and word not in rules.words.common and word not in owners


def _placed(session: Session, roots: Sequence[str], counts: Counter[str]) -> Session:
    """Workspace paths made relative and images dropped, in what was said and printed; contents of files stay."""
    places = [root.rstrip("/\\") for root in roots]
    forms = {
        form
        for place in places
        if len(re.split(r"[/\\]", place)) >= 3
        for form in (place, place.replace("\\", "/"), place.replace("\\", "\\\\"))
    }
    ordered = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.~-])(?:{ordered})(?:([/\\]{{1,2}})(?=[\w.@])|(?![\w.-]))") if forms else None

    def words(text: str) -> str:
        text, images = _IMAGE.subn("[image dropped]", text)
        counts["image"] += images
        if pattern is None:
            return text
        text, paths = pattern.subn(lambda match: "" if match[1] else ".", text)
        counts["workspace-path"] += paths
        return text

    placed = rewrite(session, words, lambda text: text)
    for rule in ("image", "workspace-path"):
        if not counts[rule]:
            del counts[rule]
    return placed


def _replaced(session: Session, table: Placeholders, counts: Counter[str]) -> Session:
    def replace(text: str) -> str:
        return table.replace(text, counts)

    return rewrite(session, replace, replace)
