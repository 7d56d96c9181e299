"""What a text names: words, identifiers, paths and issue numbers. All of it folded to lower case."""

import re

_WORD = re.compile(r"[^\W\d_]{3,}")
_BACKTICKED = re.compile(r"`([^`\n]{2,80})`")
_CODE_NAME = re.compile(
    r"\b(?:[A-Za-z_]\w*(?:\.\w+)+|[A-Za-z]+(?:_[A-Za-z0-9]+)+|_+[A-Za-z]\w+|[A-Z]?[a-z0-9]+(?:[A-Z][a-z0-9]+)+"
    r"|[A-Z]{2,}[a-z]\w+|[A-Z][A-Z0-9_]{3,}|[A-Za-z_]\w*(?=\())|--[a-z][\w-]+"
)
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_PATH = re.compile(
    r"(?<![\w/.:-])(?:[\w.-]+/)*[\w-]+\.(?:pyi?|pyx|c|cc|cpp|h|hpp|js|ts|jsx|tsx|toml|cfg|ini|json|ya?ml|md|rst)\b"
)
_REFERENCE = re.compile(r"(?:(?<![\w&])#|\bGH-|/(?:issues|pull)/|\bissues? ?#?)(\d{1,6})\b", re.IGNORECASE)
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SUFFIXES = ("ations", "ation", "ings", "ing", "edly", "ed", "ies", "es", "s", "ly")
_COMMON_TEXT = """
    the and for with that this from are was were but not have has had when where which what who how can could would will
    should does did doing done its into than then there their they them these those you your our out off over under via
    per all any some such only also just like get got gets make made use used using one two new now see please need want
    after before because been being about
"""
_COMMON = frozenset(_COMMON_TEXT.split())


def words(text: str) -> frozenset[str]:
    """Words of three letters and more, without common ones, with simple endings taken off."""
    return frozenset(_stem(word) for word in map(str.lower, _WORD.findall(text)) if word not in _COMMON)


def identifiers(text: str) -> frozenset[str]:
    """Names of code: in backticks, with underscores, dots, humps or capitals, called, or options."""
    found = {name for quoted in _BACKTICKED.findall(text) for name in _NAME.findall(quoted)}
    for name in _CODE_NAME.findall(text):
        found.update(name.split(".") if not name.startswith("--") else [name])
    return frozenset(name.lower() for name in found if len(name) >= 3 and name.lower() not in _COMMON)


def names(text: str) -> frozenset[str]:
    """Every word that could be a name in code."""
    return frozenset(name.lower() for name in _NAME.findall(text))


def parts(names_: frozenset[str] | set[str], text: str) -> frozenset[str]:
    """The words that the names of `text` are made of: `parseHeader` and `parse_header` hold parse and header."""
    found = (part for name in _NAME.findall(text) if name.lower() in names_ for part in _HUMPS.findall(name))
    return frozenset(_stem(part.lower()) for part in found if len(part) >= 3 and part.lower() not in _COMMON)


def mentioned_paths(text: str) -> frozenset[str]:
    """Things that look like a file name, with or without folders."""
    return frozenset(path.lstrip("./") for path in _PATH.findall(text))


def references(text: str) -> frozenset[str]:
    """Numbers of issues and pull requests."""
    return frozenset(_REFERENCE.findall(text))


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            stem = word[: -len(suffix)]
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and suffix in ("ing", "ed") else stem.rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word
