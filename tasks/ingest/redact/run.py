"""Redacts all sessions of one contribution together, until a second look finds nothing."""

import re
from collections import Counter
from collections.abc import Sequence

from blocks.records import ReasonCode, Record
from blocks.session import Session
from tasks.ingest.redact.personal import find_personal
from tasks.ingest.redact.placeholders import Placeholders
from tasks.ingest.redact.rules import Rules, load_rules
from tasks.ingest.redact.scanner import Finding, SecretScanner
from tasks.ingest.redact.secrets import encodes, find_secrets, variants
from tasks.ingest.redact.texts import rewrite, texts_of
from tasks.ingest.result import RefusedError

ROUNDS = 6
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
    for _ in range(ROUNDS):
        texts = {text for session in current for text in texts_of(session) if text}
        found = [_learn(text, table, rules, scanner, owners) for text in sorted(texts)]
        secrets = table.secrets()
        found += [
            table.everywhere(finding.rule, finding.value, [finding.value])
            for text in sorted(texts)
            for finding in encodes(text, secrets)
        ]
        changed = [_replaced(session, table, count) for session, count in zip(current, counts, strict=True)]
        if changed == current and not any(found):
            _verify(current, table)
            return [
                Redaction(session=session, counts=dict(sorted(count.items())))
                for session, count in zip(current, counts, strict=True)
            ]
        current = changed
    raise RefusedError(
        ReasonCode.SCANNER_FAILED,
        f"something secret is still found after {ROUNDS} rounds of redaction; remove secrets by hand and hand in again",
    )


def _learn(text: str, table: Placeholders, rules: Rules, scanner: SecretScanner, owners: set[str]) -> bool:
    """Add what the text holds to the table. True where any of it is new."""
    fresh = False
    for finding in find_secrets(text, rules, scanner):
        if _is_distinctive(finding.value):
            fresh |= table.everywhere(finding.rule, finding.value, variants(finding.value))
        else:
            fresh |= table.in_context(finding.rule, finding.value, finding.context)
    for kind, finding in find_personal(text, rules):
        if kind in ("user", "host") and not _is_name(finding, rules, owners):
            fresh |= table.in_context(kind, finding.value, finding.context)
        else:
            fresh |= table.everywhere(kind, finding.value, [finding.value])
    return fresh


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


def _verify(sessions: Sequence[Session], table: Placeholders) -> None:
    """What is about to be stored, byte by byte as it will be serialised, holds none of the values that were found."""
    for session in sessions:
        public = session.model_copy(update={"repository": "", "sightings": ()})
        if table.left_in(public.model_dump_json()):
            raise RefusedError(
                ReasonCode.SCANNER_FAILED,
                "a value that was found is still there after redaction; remove secrets by hand and hand in again",
            )
