"""The kept secret scanner behind one protocol. It must prove that it works before it is trusted."""

import re
from typing import Protocol

from blocks.records import ReasonCode, Record
from tasks.ingest.result import RefusedError

CHUNK = 100_000
OVERLAP = 10_000
_ALLOW = re.compile(r"(?i)(gitleaks|betterleaks):allow")
_CANARY = "ghp_" + "16C7e42F292c6912E7710" + "c838347Ae178B4a"


class Finding(Record):
    """Something that must not be stored. `context` is the text around the value that made it one, value included."""

    rule: str
    value: str
    context: str


class SecretScanner(Protocol):
    """Finds secrets in one decoded text."""

    def scan(self, text: str) -> list[Finding]:
        """Every finding. Raises RefusedError scanner_failed where it cannot be told."""
        ...


def open_scanner() -> SecretScanner:
    """The betterleaks scanner, after it has found a made-up token.

    Raises:
        RefusedError: scanner_failed; not installed, not loadable, or blind.
    """
    scanner = Betterleaks()
    if not any(finding.value == _CANARY for finding in scanner.scan(f'token = "{_CANARY}"\n')):
        raise _failed("does not find a token made up to test it")
    return scanner


class Betterleaks:
    """betterleaks 2.0 through its Python binding.

    It reads C strings (a NUL would end the text) and honours comments that allow a secret: neither may hide one here.
    """

    def __init__(self) -> None:
        try:
            import betterleaks
        except (ImportError, OSError):
            raise _failed("is not installed or cannot be loaded") from None
        self._scan = betterleaks.scan_string
        self._error: type[Exception] = betterleaks.BetterleaksError

    def scan(self, text: str) -> list[Finding]:
        """Scan in overlapping chunks."""
        prepared = _ALLOW.sub("", text.replace("\0", " "))
        found: list[Finding] = []
        for start in range(0, max(len(prepared), 1), CHUNK - OVERLAP):
            found.extend(self._chunk(prepared[start : start + CHUNK]))
            if start + CHUNK >= len(prepared):
                break
        return found

    def _chunk(self, text: str) -> list[Finding]:
        if not text.strip():
            return []
        try:
            hits = self._scan(text)
        except (self._error, OSError, ValueError, KeyError, TypeError, AttributeError):
            raise _failed("fails on a text") from None
        found = []
        for hit in hits:
            found.append(Finding(rule=hit.rule_id, value=hit.secret, context=hit.match.full or hit.secret))
            for parts in hit.component_sets:
                for part in parts.get("components") or []:
                    match = part.get("match") or {}
                    value = str(match.get("value") or "")
                    rule = str(part.get("rule_id") or hit.rule_id)
                    found.append(Finding(rule=rule, value=value, context=str(match.get("full") or value)))
        return [finding for finding in found if finding.value.strip()]


def _failed(fault: str) -> RefusedError:
    return RefusedError(
        ReasonCode.SCANNER_FAILED,
        f"the secret scanner (betterleaks) {fault}; nothing is ingested without it; install the locked dependencies",
        infrastructure=True,
    )
