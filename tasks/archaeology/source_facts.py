"""What a source distribution and a wheel say of themselves, read as data: PEP 517, PEP 643, core metadata."""

import io
import re
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from email.parser import HeaderParser

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from blocks.builder.source_build import LEGACY
from blocks.records import Record

_MOST_TEXT = 1 << 20
_MOST_REQUIREMENTS = 500
_BACKEND = re.compile(r"^[A-Za-z_][\w.]*(:[A-Za-z_][\w.]*)?$")


class Metadata(Record):
    """What a resolver must know of one release."""

    requires: tuple[str, ...] = ()
    requires_python: str | None = None
    extras: tuple[str, ...] = ()


class BuildSystem(Record):
    """How a source distribution is built (PEP 517 and 518)."""

    requires: tuple[str, ...] = ("setuptools", "wheel")
    backend: str = LEGACY
    backend_path: tuple[str, ...] = ()


def build_system(pyproject: str | None) -> BuildSystem:
    """The `[build-system]` of a pyproject.toml; setuptools and its setup.py where it says nothing.

    Requirements that no index can serve are left out.
    """
    try:
        table = tomllib.loads(pyproject or "").get("build-system")
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict) or not isinstance(table.get("requires"), list):
        return BuildSystem()
    backend = table.get("build-backend")
    path = table.get("backend-path")
    paths = tuple(item for item in path if isinstance(item, str)) if isinstance(path, list) else ()
    return BuildSystem(
        requires=plain_requirements(item for item in table["requires"] if isinstance(item, str)),
        backend=backend if isinstance(backend, str) and _BACKEND.match(backend) else LEGACY,
        backend_path=tuple(item for item in paths if not item.startswith("/") and ".." not in item.split("/")),
    )


def static_metadata(text: str | None) -> Metadata | None:
    """The metadata of a PKG-INFO that a build would not change: version 2.2 or later, no dependencies marked dynamic.

    None where it says too little, so that the distribution has to be built to know.
    """
    if not text:
        return None
    message = HeaderParser().parsestr(text[:_MOST_TEXT])
    try:
        is_reliable = Version(str(message.get("Metadata-Version", "0"))) >= Version("2.2")
    except InvalidVersion:
        return None
    dynamic = {str(item).strip().lower() for item in message.get_all("Dynamic", [])}
    if not is_reliable or dynamic & {"requires-dist", "requires-python", "provides-extra"}:
        return None
    return _metadata(text)


def wheel_metadata(content: bytes, name: str, version: str) -> Metadata | str:
    """The metadata of a built wheel; a text says why it is not the wheel of this release."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = [item for item in archive.infolist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", item.filename)]
            if len(files) != 1 or files[0].file_size > _MOST_TEXT:
                return f"the wheel built for {name} {version} has no metadata that can be read"
            with archive.open(files[0]) as reader:
                text = reader.read(_MOST_TEXT).decode("utf-8", "replace")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, EOFError) as error:
        return f"what was built for {name} {version} is no wheel: {error}"
    message = HeaderParser().parsestr(text)
    told = str(message.get("Name", "")), str(message.get("Version", ""))
    try:
        is_it = canonicalize_name(told[0]) == canonicalize_name(name) and Version(told[1]) == Version(version)
    except InvalidVersion:
        is_it = False
    if not is_it:
        return f"the build of {name} {version} made a wheel of {told[0][:100]} {told[1][:100]}"
    return _metadata(text)


def plain_requirements(items: Iterable[str]) -> tuple[str, ...]:
    """Those that parse and that an index can serve, as they are normally written."""
    kept: dict[str, None] = {}
    for item in items:
        try:
            requirement = Requirement(item)
        except InvalidRequirement:
            continue
        if requirement.url is None and len(kept) < _MOST_REQUIREMENTS:
            kept[str(requirement)] = None
    return tuple(kept)


def as_uv(known: Mapping[str, Mapping[str, Metadata]]) -> dict[str, object]:
    """A uv.toml that gives the resolver this metadata, by name and version.

    Each name also gets an entry without a version: so uv takes nothing from the source itself, which for a release that
    is not known yet would mean to build it.
    """
    entries: list[dict[str, object]] = []
    for name, releases in sorted(known.items()):
        entries.append({"name": name, "requires-dist": []})
        for version, metadata in sorted(releases.items()):
            entry: dict[str, object] = {"name": name, "version": version, "requires-dist": list(metadata.requires)}
            entry["provides-extra"] = list(metadata.extras)
            if metadata.requires_python:
                entry["requires-python"] = metadata.requires_python
            entries.append(entry)
    return {"dependency-metadata": entries}


def _metadata(text: str) -> Metadata:
    message = HeaderParser().parsestr(text)
    requires_python = message.get("Requires-Python")
    return Metadata(
        requires=plain_requirements(map(str, message.get_all("Requires-Dist", []))),
        requires_python=str(requires_python).strip() if requires_python else None,
        extras=tuple(str(item).strip() for item in message.get_all("Provides-Extra", [])),
    )
