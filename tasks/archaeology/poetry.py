"""Poetry's own version notation (`^1.2`, `~1.2`, `*`, tables) as PEP 508 requirement strings."""

import re
from collections.abc import Mapping

from packaging.version import InvalidVersion, Version


def poetry_requirements(table: Mapping[str, object]) -> tuple[str, ...]:
    """Requirement strings of a `[tool.poetry]` or group table's `dependencies`; optional and path ones left out."""
    dependencies = table.get("dependencies")
    found: list[str] = []
    for name, value in dependencies.items() if isinstance(dependencies, dict) else ():
        if name.lower() == "python":
            continue
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, str):
                found.append(f"{name}{specifier(entry)}")
            elif isinstance(entry, dict) and isinstance(entry.get("version"), str) and not entry.get("optional"):
                extras = entry.get("extras")
                extra = f"[{','.join(map(str, extras))}]" if isinstance(extras, list) and extras else ""
                found.append(f"{name}{extra}{specifier(entry['version'])}{_markers(entry)}")
    return tuple(found)


def poetry_python(table: Mapping[str, object]) -> str | None:
    """The Python versions a `[tool.poetry]` table asks for, as a specifier set; None where it says nothing."""
    dependencies = table.get("dependencies")
    python = dependencies.get("python") if isinstance(dependencies, dict) else None
    return specifier(python) or None if isinstance(python, str) else None


def specifier(constraint: str) -> str:
    """A PEP 440 specifier set for one of Poetry's constraints; of alternatives (`||`, `|`) the last.

    Source: python-poetry.org/docs/dependency-specification (caret, tilde, wildcard, inequality, exact, multiple).
    """
    parts = []
    last = re.split(r"\|\|?", constraint)[-1]
    for part in re.findall(r"(?:~=|[<>=!~^]*)\s*[^\s,<>=!~^]+", last):
        text = "".join(part.split())
        if text == "*":
            continue
        if text[0] in "^~" and not text.startswith("~="):
            parts.append(_range(text[0], text.lstrip("^~")))
        elif text[0].isalnum():
            parts.append(f"=={text}")
        else:
            parts.append(f"={text}" if re.match(r"=[^=]", text) else text)
    return ",".join(part for part in parts if part)


def _markers(entry: Mapping[str, object]) -> str:
    """The `markers` of a dependency table, and its `python` as one."""
    markers, python = entry.get("markers"), entry.get("python")
    parts = [f"({markers})"] if isinstance(markers, str) else []
    for clause in (specifier(python) if isinstance(python, str) else "").split(","):
        found = re.match(r"^([<>=!~]+)(.+)$", clause)
        if found:
            name = "python_full_version" if found[2].count(".") > 1 and "*" not in found[2] else "python_version"
            parts.append(f'{name} {found[1]} "{found[2]}"')
    return f" ; {' and '.join(parts)}" if parts else ""


def _range(sign: str, text: str) -> str:
    try:
        release = Version(text).release
    except InvalidVersion:
        return ""
    if sign == "~":
        keep = min(len(release), 2)
    else:
        keep = next((position + 1 for position, number in enumerate(release) if number), len(release))
    upper = [*release[: keep - 1], release[keep - 1] + 1]
    return f">={text},<{'.'.join(map(str, upper))}"
