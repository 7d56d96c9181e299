"""What a text names: words, identifiers, paths and issue numbers. All of it folded to lower case."""

import re

_WORD = re.compile(r"[^\W\d_]{3,}")
_BACKTICKED = re.compile(r"`([^`\n]{2,80})`")
_CODE_NAME = re.compile(
    r"\b(?:[A-Za-z_]\w*(?:\.\w+)+|[A-Za-z]+(?:_[A-Za-z0-9]+)+|_+[A-Za-z]\w+|[A-Z]?[a-z0-9]+(?:[A-Z][a-z0-9]+)+"
    r"|[A-Z]{2,}[a-z]\w+|[A-Z][A-Z0-9_]{3,}|[A-Za-z]{2,}\d+[A-Za-z]*|[A-Za-z_]\w*(?=\())|--[a-z][\w-]+"
)
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_PATH = re.compile(
    r"(?<![\w/.:-])(?:[\w.-]+/)*[\w-]+\.(?:pyi?|pyx|c|cc|cpp|h|hpp|js|ts|jsx|tsx|toml|cfg|ini|json|ya?ml|md|rst)\b"
)
_REFERENCE = re.compile(r"(?:(?<![\w&])#|\bGH-|/(?:issues|pull)/|\bissues? ?#?)(\d{1,6})\b", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`\n]{3,80})`|\"([^\"\n]{3,80})\"|(?<!\w)'([^'\n]{3,80})'(?!\w)")
_TOKEN = re.compile(r"\S*[\d#/<>{}$=@%&*\\\[\]|^~]\S*")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SIGN = re.compile(r"(?<!\S)[\"'`(]*([;:#%&*+=<>@^|~\\/,])[\"'`).]*(?!\S)")
_SIGN_NAMES = {
    ";": "semicolon", ":": "colon", ",": "comma", "#": "hash", "%": "percent", "&": "ampersand", "*": "asterisk",
    "+": "plus", "=": "equal", "<": "less", ">": "greater", "@": "at-sign", "^": "caret", "|": "pipe", "~": "tilde",
    "\\": "backslash", "/": "slash",
}  # fmt: skip
_SUFFIXES = ("ations", "ation", "ings", "ing", "edly", "ed", "ies", "es", "s", "ly")
_COMMON_TEXT = """
    the and for with that this from are was were but not have has had having when where which what who whom whose why how
    can could will would shall should may might must does did doing done its into onto than then there their theirs they
    them these those you your yours our ours out off over under above below via per all any some such only also just like
    get got gets getting make makes made making use uses used using one ones two three new now see seen please need needs
    want wants after before because since until while during being been about again against already although always
    another anything anyway around away back became become both cannot come comes coming day each either else enough even
    ever every everything few first give given gives goes going gone good happen happens here however instead itself keep
    keeps kept know known last later least less let lets look looks many maybe mean means more most much myself neither
    never next none nothing often once other others otherwise own put quite rather really right same saw say says seem
    seems several show shows side simply something sometimes somewhere soon still sure take takes taken tell than thing
    things think though through thus together too toward turn try tried tries trying under unless upon very way well went
    whatever whether within without work works working worked yet between expect expected instead
"""
_COMMON = frozenset(_COMMON_TEXT.split())


def words(text: str) -> frozenset[str]:
    """Words of three letters and more, without common ones, with simple endings taken off; signs that stand alone by name."""
    found = {_stem(word) for word in map(str.lower, _WORD.findall(text)) if word not in _COMMON}
    return frozenset(found | {_stem(_SIGN_NAMES[sign]) for sign in _SIGN.findall(text)})


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
    """The words that the names of `text` are made of: `parseHeader` and `parse_header` hold parse and header, and
    `from_mp3_file` holds mp3.
    """
    known = [name for name in _NAME.findall(text) if name.lower() in names_]
    whole = {part.lower() for name in known for part in name.split("_") if any(map(str.isdigit, part))}
    found = (part for name in known for part in _HUMPS.findall(name))
    words_ = frozenset(_stem(part.lower()) for part in found if len(part) >= 3 and part.lower() not in _COMMON)
    return words_ | {part for part in whole if len(part) >= 3}


def mentioned_paths(text: str) -> frozenset[str]:
    """Things that look like a file name, with or without folders."""
    return frozenset(path.lstrip("./") for path in _PATH.findall(text))


def literals(text: str) -> frozenset[str]:
    """Values that a user copied from what they did or saw: quoted texts, and words with digits or signs in them."""
    quoted = {next(filter(None, groups)) for groups in _QUOTED.findall(text)}
    found = {value.strip() for value in quoted if not value.strip().isalpha()}
    found |= {token.strip(".,;:!?()\"'`") for token in _TOKEN.findall(text)}
    return frozenset(
        value for value in found if len(value) >= 4 and any(map(str.isalnum, value)) and not _NAME.fullmatch(value)
    )


def references(text: str) -> frozenset[str]:
    """Numbers of issues and pull requests."""
    return frozenset(_REFERENCE.findall(text))


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            stem = word[: -len(suffix)]
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and suffix in ("ing", "ed") else stem.rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word
