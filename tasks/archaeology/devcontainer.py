"""A development container's description, read as data: image, versions, packages, commands, what runs beside it.

Source: containers.dev/implementors/json_reference. The file is JSON with comments and trailing commas.
"""

import json
import re
from collections.abc import Iterator, Mapping

from blocks.records import Record
from blocks.trees import Tree
from tasks.archaeology.documents import mapping

_PLACES = (".devcontainer/devcontainer.json", ".devcontainer.json")
_FOLDER = re.compile(r"^\.devcontainer/[^/]+/devcontainer\.json$")
_MOMENTS = ("onCreateCommand", "updateContentCommand", "postCreateCommand")
_MOST_BYTES = 200_000
_MOST_FILES = 20
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
_PLAIN = re.compile(r'[^"/,\s}\]]+')


class Devcontainer(Record):
    """What one or several of them said together."""

    script: str = ""
    """Commands that make the container ready, one a line."""
    versions: tuple[tuple[str, str], ...] = ()
    """Language (`python`, `node`) and version, from the image's tag, the build's VARIANT and the features."""
    packages: tuple[str, ...] = ()
    """Debian packages that a feature installs."""
    variables: tuple[tuple[str, str], ...] = ()
    services: tuple[str, ...] = ()
    """Compose services that run beside it."""

    def versions_of(self, language: str) -> tuple[str, ...]:
        """The versions of one language."""
        return tuple(version for name, version in self.versions if name == language)


def read_devcontainers(tree: Tree) -> Devcontainer:
    """The first devcontainer.json files of the tree, by path; what is none, or too long, says nothing."""
    scripts: list[str] = []
    versions: list[tuple[str, str]] = []
    packages: list[str] = []
    variables: dict[str, str] = {}
    services: list[str] = []
    for path in sorted(path for path in tree if path in _PLACES or _FOLDER.match(path))[:_MOST_FILES]:
        document = _document(tree, path)
        scripts += [line for moment in _MOMENTS for line in _commands(document.get(moment))]
        versions += _versions(document)
        for name, feature in mapping(document.get("features")).items():
            told = mapping(feature).get("packages")
            if "apt" in name and isinstance(told, str):
                packages += [word for word in re.split(r"[\s,]+", told) if word]
        for key in ("remoteEnv", "containerEnv"):
            variables |= {name: text for name, text in mapping(document.get(key)).items() if isinstance(text, str)}
        services += _texts(document.get("runServices"))
    return Devcontainer(
        script="\n".join(scripts),
        versions=tuple(dict.fromkeys(versions)),
        packages=tuple(dict.fromkeys(packages)),
        variables=tuple(sorted(variables.items())),
        services=tuple(dict.fromkeys(services)),
    )


def plain_json(text: str) -> str:
    """JSON without the comments and trailing commas that JSONC allows; strings stay as they are.

    In one pass: a comment or string that does not end goes to the end of the text, which is then no JSON.
    """
    parts: list[str] = []
    comma: int | None = None
    at = 0
    while at < len(text):
        if text.startswith(("//", "/*"), at):
            at = _behind_comment(text, at)
            continue
        found = _STRING.match(text, at) if text[at] == '"' else _PLAIN.match(text, at)
        end = found.end() if found else len(text) if text[at] == '"' else at + 1
        part = text[at:end]
        if part in ("}", "]") and comma is not None:
            parts[comma] = ""
        if part == ",":
            comma = len(parts)
        elif not part.isspace():
            comma = None
        parts.append(part)
        at = end
    return "".join(parts)


def _behind_comment(text: str, at: int) -> int:
    """Where the comment that begins there ends: a line's before its line end."""
    end = text.find("\n", at) if text.startswith("//", at) else text.find("*/", at + 2) + 2
    return end if end >= at + 2 else len(text)


def _versions(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    image = document.get("image")
    found = (
        re.search(r"(?:^|[/-])(python|node)(?:js)?:(?:[\d.]+-)?(\d+(?:\.\d+)?)(?!\.?\d*-dev)", str(image))
        if image
        else None
    )
    if found:
        yield found[1], found[2]
    variant = mapping(mapping(document.get("build")).get("args")).get("VARIANT")
    if isinstance(variant, str) and (plain := re.match(r"(?:\d+-)?(3\.\d{1,2})(?:\D|$)", variant)):
        yield "python", plain[1]
    for name, feature in mapping(document.get("features")).items():
        language = re.search(r"/features/(python|node)(?::|$)", name)
        version = feature if isinstance(feature, str) else mapping(feature).get("version")
        if language and isinstance(version, str) and re.fullmatch(r"\d+(\.\d+)*", version):
            yield language[1], ".".join(version.split(".")[:2])


def _document(tree: Tree, path: str) -> Mapping[str, object]:
    file = tree[path]
    if file.link is not None or len(file.content) > _MOST_BYTES:
        return {}
    try:
        return mapping(json.loads(plain_json(file.content.decode("utf-8", "replace"))))
    except (ValueError, RecursionError):
        return {}


def _commands(value: object) -> Iterator[str]:
    """A command is a text, a list of words, or several of these by name."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield " ".join(_texts(value))
    elif isinstance(value, dict):
        for inner in value.values():
            if not isinstance(inner, dict):
                yield from _commands(inner)


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
