"""Where a wish can be observed, and the user's own words for what should and what must not happen."""

import re

_SURFACES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("option", re.compile(r"(?<![\w-])(--[a-z][\w-]+)")),
    ("exception", re.compile(r"\b([A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt)|panic|segfault|traceback)\b")),
    ("call", re.compile(r"\b([A-Za-z_][\w.]*)\(")),
    ("name", re.compile(r"`([^`\n]{2,60})`")),
    ("name", re.compile(r"\b([A-Za-z]\w*(?:\.[A-Za-z_]\w+)+|[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\b")),
    (
        "status",
        re.compile(r"\b(?:status(?: code)?|HTTP|exit code|returns?|with) ([1-5]\d\d|exit code \d+)\b", re.IGNORECASE),
    ),
    ("file", re.compile(r"\b([\w-]+\.(?:json|ya?ml|toml|csv|txt|html?|xml|md|log|env|ini|cfg))\b")),
    (
        "output",
        re.compile(r"\b(output|prints?|printed|displayed|shown|response|result|message|log(?:ged)?|value|returns?)\b"),
    ),
)
_MUST = re.compile(
    r"\b(?:should(?! not|n't)|must(?! not|n't)|has to|have to|needs? to|ought to|is expected to|expect(?:ed)?(?: to"
    r"| that)?|instead it"
    r"|I want|I'd like|I would like|please|make it|add|support|allow|return|accept)\b[^.\n]*",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"(?:\b(?:must|should|do|does|may) ?(?:not|n't)\b|\b(?:but|it|which|that|then|still) (?:\w+ )?(?:raises?|returns?"
    r"|gives?|fails?|crash(?:es)?"
    r"|throws?|breaks?|hangs?|loses?|drops?|ignores?|prints?|stays?)\b|\b(?:raises?|crash(?:es)?|throws?|fails?|hangs?"
    r"|stays?|breaks?"
    r"|silently|wrongly|instead of|never|doesn't|does not|isn't|is not|cannot|can't|won't)\b)[^.\n]*",
    re.IGNORECASE,
)
_MAX = 300


def surface_of(text: str) -> str | None:
    """The first surface the text names, as `kind:name`, of the most telling kind there is."""
    for kind, pattern in _SURFACES:
        if match := pattern.search(text):
            return f"{kind}:{match[1].strip()[:80]}"
    return None


def positive_of(text: str) -> str | None:
    """The words that say what should happen; verbatim."""
    return _found(_MUST, text)


def negative_of(text: str) -> str | None:
    """The words that say what must not, or wrongly does; verbatim."""
    return _found(_WRONG, text)


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    words = match[0].strip()[:_MAX] if match else ""
    return words if len(words.split()) >= 2 else None
