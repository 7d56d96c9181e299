"""npm version ranges (node-semver's grammar), as far as `engines` and matrices use them."""

import re

Version = tuple[int, int, int]
_OPERATORS = re.compile(r"(<=|>=|<|>|=|~>|~|\^)\s+")
_COMPARATOR = re.compile(r"^(<=|>=|<|>|=|~>|~|\^)?v?(\d+|[xX*])?(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:[-+].*)?$")
_NO_END: Version = (1 << 30, 0, 0)


def parse_version(text: str) -> Version | None:
    """`v20.1.3` as numbers; parts that are missing are 0; None where it is no version."""
    found = re.match(r"^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?", text.strip())
    return (int(found[1]), int(found[2] or 0), int(found[3] or 0)) if found else None


def satisfies(text: str, version: str) -> bool | None:
    """Whether a version is in a range; None where the range does not parse."""
    wanted = parse_version(version)
    if wanted is None:
        return None
    verdicts = [_in_alternative(part, wanted) for part in text.split("||")]
    return True if True in verdicts else None if None in verdicts else False


def _in_alternative(text: str, version: Version) -> bool | None:
    hyphen = re.match(r"^\s*(\S+)\s+-\s+(\S+)\s*$", text)
    if hyphen:
        text = f">={hyphen[1]} <={hyphen[2]}"
    for word in _OPERATORS.sub(r"\1", text).split() or ["*"]:
        bounds = _bounds(word)
        if bounds is None:
            return None
        if not bounds[0] <= version < bounds[1]:
            return False
    return True


def _bounds(word: str) -> tuple[Version, Version] | None:
    """The half-open interval of one comparator."""
    found = _COMPARATOR.match(word)
    if not found:
        return None
    operator = found[1] or "="
    parts = []
    for part in (found[2], found[3], found[4]):
        if part is None or part in "xX*":
            break
        parts.append(int(part))
    if not parts:
        return (0, 0, 0), _NO_END
    low: Version = (parts[0], parts[1] if len(parts) > 1 else 0, parts[2] if len(parts) > 2 else 0)
    after = _after(parts)
    if operator == ">=":
        return low, _NO_END
    if operator == ">":
        return after, _NO_END
    if operator == "<":
        return (0, 0, 0), low
    if operator == "<=":
        return (0, 0, 0), after
    if operator in ("~", "~>"):
        return low, _after(parts[:2])
    if operator == "^":
        first = next((place for place, part in enumerate(parts) if part), len(parts) - 1)
        return low, _after(parts[: first + 1])
    return low, after


def _after(parts: list[int]) -> Version:
    """The first version above everything that begins with these parts."""
    bumped = [*parts[:-1], parts[-1] + 1, 0, 0]
    return (bumped[0], bumped[1], bumped[2])
