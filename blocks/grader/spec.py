"""tests/spec.json: what the grader is to run and to ask for, fixed when the task is published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

SCHEMA_VERSION = 1
RUNNERS = ("pytest", "node", "native")
_HEX = frozenset("0123456789abcdef")


class SpecError(ValueError):
    """spec.json is not usable; says which field and why. Never the submission's fault."""


@dataclass(frozen=True)
class GraderSpec:
    """One verifier. All paths are relative to the workspace, with `/`; ids are those the runner reports."""

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    test_files: tuple[str, ...]
    """pytest: files that are run, in this order. Other runners run the whole suite; there it is where the ids lie."""
    hidden: dict[str, str] = field(default_factory=dict)
    """Path -> sha256 of tests/hidden/<path>: written over whatever lies there."""
    base: dict[str, str] = field(default_factory=dict)
    """Path -> sha256 of tests/base/<path>: protected files of the start tree, restored."""
    protected_patterns: tuple[str, ...] = ()
    """Globs (see policy.matches) of paths the submission may not change: in `base` -> restored, else removed."""
    open_paths: tuple[str, ...] = ()
    """Globs of paths the outcome itself changes: left as the submission has them, whatever else says they are
    protected."""
    own_modules: tuple[str, ...] = ()
    """Top-level names of the start tree that shadow the standard library or the runner; see policy.own_modules."""
    source_roots: tuple[str, ...] = (".", "src")
    """Folders of the workspace that are on the import path."""
    workspace: str = "/app"
    folder: str = "."
    """pytest, node: the project's folder, where its tests are started; all paths and ids stay those of the workspace."""
    python: str = "/opt/venv/bin/python"
    subject_user: str = "agent"
    """Name or numeric uid (a uid needs no passwd entry; its group is then the same number). Never root."""
    runner: str = "pytest"
    build: Mapping[str, object] = field(default_factory=dict)
    """node, native: how the tree is built and tested; the JSON form of blocks.recipe.NodeBuild or NativeBuild."""
    sentinel_files: tuple[str, ...] = ()
    """node, native: test files, of `hidden` or `base`, that get tests that must fail (see planting.py)."""
    must_fail: tuple[str, ...] = ()
    """native: ids of plain programs that fail where the `main` of `inverted_files` says that they failed."""
    inverted_files: tuple[str, ...] = ()
    """native: sources of plain test programs, of `hidden` or `base`."""
    open_fields: tuple[str, ...] = ()
    """node: fields of package.json that the outcome itself changes, beyond those that are always free (see
    package_json.py)."""
    ini_lines: tuple[str, ...] = ()
    """`key = value` lines of the [pytest] section; continuation lines start with a blank."""
    arguments: tuple[str, ...] = ()
    """Further pytest arguments."""
    environment: dict[str, str] = field(default_factory=dict)
    timeout_sec: float = 900.0
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            SpecError: a value cannot be.
        """
        _check(self)

    @property
    def whitelist(self) -> tuple[str, ...]:
        """Ids that must all pass for reward 1."""
        return self.fail_to_pass + self.pass_to_pass

    def to_json(self) -> str:
        """The text of spec.json: sorted keys, so that equal specs give equal bytes."""
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> GraderSpec:
        """Read spec.json. Fields with a default may be absent; unknown ones are refused.

        Raises:
            SpecError: not JSON, an unknown or missing field, a wrong type or value.
        """
        try:
            document = json.loads(text)
        except ValueError as error:
            raise SpecError(f"spec is not JSON: {error}") from None
        if not isinstance(document, dict):
            raise SpecError("spec is not a JSON object")
        known = {entry.name for entry in fields(cls)}
        unknown = sorted(set(document) - known)
        missing = [name for name in ("fail_to_pass", "pass_to_pass", "test_files") if name not in document]
        if unknown or missing:
            raise SpecError(f"spec has unknown fields {unknown} or lacks {missing}")
        for name, value in document.items():
            if isinstance(value, list):
                document[name] = tuple(value)
        return cls(**document)


def load_spec(path: Path) -> GraderSpec:
    """Read a spec file.

    Raises:
        SpecError: it cannot be read or is not a valid spec.
    """
    try:
        return GraderSpec.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"spec {path} cannot be read: {error}") from None


def is_plain_path(path: str) -> bool:
    """Whether `path` is relative, does not climb, and names no part twice over (`a//b`, `./a`)."""
    return bool(path) and "\0" not in path and not any(part in ("", ".", "..") for part in path.split("/"))


def _check(spec: GraderSpec) -> None:
    if spec.schema_version != SCHEMA_VERSION:
        raise SpecError(f"schema_version is {spec.schema_version!r}; this grader reads {SCHEMA_VERSION}")
    if spec.runner not in RUNNERS:
        raise SpecError(f"runner is {spec.runner!r}; this grader has {', '.join(RUNNERS)}")
    for entry in fields(spec):
        value = getattr(spec, entry.name)
        if entry.type.startswith("tuple") and not (isinstance(value, tuple) and _are_texts(value)):
            raise SpecError(f"{entry.name} is not a list of texts")
        if entry.type.startswith("dict") and not (
            isinstance(value, dict) and _are_texts(value) and _are_texts(value.values())
        ):
            raise SpecError(f"{entry.name} is not an object of texts")
        if entry.type == "str" and not (isinstance(value, str) and value):
            raise SpecError(f"{entry.name} is not a text")
    if isinstance(spec.timeout_sec, bool) or not isinstance(spec.timeout_sec, (int, float)) or spec.timeout_sec <= 0:
        raise SpecError("timeout_sec is not a positive number")
    if not spec.whitelist:
        raise SpecError("no test is asked for: fail_to_pass and pass_to_pass are both empty")
    for name in ("workspace", "python"):
        if not getattr(spec, name).startswith("/"):
            raise SpecError(f"{name} is not an absolute path")
    if spec.folder != "." and not is_plain_path(spec.folder):
        raise SpecError(f"folder: {spec.folder!r} is not a plain relative path")
    for path in spec.test_files:
        if not is_plain_path(path):
            raise SpecError(f"test_files: {path!r} is not a plain relative path")
    if not isinstance(spec.build, Mapping):
        raise SpecError("build is not an object")
    if (spec.runner != "pytest") != bool(spec.build):
        raise SpecError(f"build must be given for node and native, and only there; the runner is {spec.runner!r}")
    for name in ("sentinel_files", "inverted_files"):
        for path in getattr(spec, name):
            if path not in spec.hidden and path not in spec.base:
                raise SpecError(f"{name}: {path!r} is neither in hidden nor in base")
    for name in ("hidden", "base"):
        for path, digest in getattr(spec, name).items():
            if not is_plain_path(path):
                raise SpecError(f"{name}: {path!r} is not a plain relative path")
            if len(digest) != 64 or not _HEX.issuperset(digest):
                raise SpecError(f"{name}: the digest of {path!r} is not a sha256 in lower-case hex")


def _are_texts(values: object) -> bool:
    return all(isinstance(value, str) and "\0" not in value for value in values)  # type: ignore[attr-defined]
