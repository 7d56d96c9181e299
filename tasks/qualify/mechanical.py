"""Commits that a tool makes: formatters, upgraders, dependency bots. What they change is nobody's problem settled."""

import hashlib
import re

from blocks.repositories import Commit

_SUBJECT = re.compile(
    r"^\[pre-commit\.ci\]|\bauto(?:matic)? fixes from\b|\bpre-commit auto(?:update|fix)"
    r"|^(?:chore|build|style|ci)(?:\([\w./-]*\))?!?: (?:bump|update|upgrade) (?:dep|[\w@/.-]+ (?:from|to)\b)"
    r"|^(?:bump|update|upgrade) [\w@/.\-\[\]]+ from v?\d[\w.]* to v?\d"
    r"|^(?:apply|run|reformat(?:ted)? with|format(?:ted)? with|apply formatting (?:from|with)) "
    r"(?:black|ruff|isort|prettier|clang-format|yapf|autopep8|pyupgrade|gofmt|rustfmt|eslint(?: --fix)?|standard|biome)\b"
    r"|^style(?:\([\w./-]*\))?: |^(?:pep ?8|lint|linting|formatting|whitespace)(?: fixes| fix| only| changes)?\.?$"
    r"|^(?:release|bump version|version bump)(?::? v?\d[\w.]*)?$|^v?\d+\.\d+(?:\.\d+)?(?:[-.]\w+)?$",
    re.IGNORECASE,
)
_BOTS = (
    "66853113+pre-commit-ci[bot]@users.noreply.github.com",
    "49699333+dependabot[bot]@users.noreply.github.com",
    "27856297+dependabot-preview[bot]@users.noreply.github.com",
    "29139614+renovate[bot]@users.noreply.github.com",
    "39814207+pyup-bot@users.noreply.github.com",
    "41898282+github-actions[bot]@users.noreply.github.com",
    "support@dependabot.com",
    "bot@renovateapp.com",
    "github-bot@pyup.io",
    "greenkeeper[bot]@users.noreply.github.com",
)
_BOT_HASHES = frozenset(hashlib.sha256(address.encode()).hexdigest()[:16] for address in _BOTS)


def mechanical(commit: Commit) -> str | None:
    """What says that a tool made it; None for people's work."""
    if commit.author_hash in _BOT_HASHES:
        return "its author is a known bot"
    match = _SUBJECT.search(commit.subject)
    return f"its subject is that of a tool ({match[0].strip()[:60]})" if match else None
