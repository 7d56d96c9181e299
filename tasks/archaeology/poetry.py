"""Poetry's own version notation (`^1.2`, `~1.2`, `*`, tables) as PEP 508 requirement strings."""

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
                extra = f"[{','.join(extras)}]" if isinstance(extras, list) and extras else ""
                marker = entry.get("markers")
                found.append(
                    f"{name}{extra}{specifier(entry['version'])}" + (f" ; {marker}" if isinstance(marker, str) else "")
                )
    return tuple(found)


def specifier(constraint: str) -> str:
    """A PEP 440 specifier set for one of Poetry's constraints; of alternatives (`||`) the last."""
    parts = []
    for part in constraint.split("||")[-1].replace("|", ",").split(","):
        text = part.strip()
        if text in ("", "*"):
            continue
        if text[0] in "^~" and not text.startswith("~="):
            parts.append(_range(text[0], text.lstrip("^~ ")))
        elif text[0].isdigit():
            parts.append(f"=={text}")
        else:
            parts.append(text.replace(" ", ""))
    return ",".join(parts)


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
