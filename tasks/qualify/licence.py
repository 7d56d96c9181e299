"""The licence of a commit, by two detectors that must agree, and what the project's metadata declares."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from pydantic import TypeAdapter

from blocks.records import Record
from blocks.repositories import Repository

SURE_SCORE = 0.9
"""askalono's score from which its answer counts (0.95 refused licence files that only carry a long list of authors)."""

_PRIMARY = re.compile(r"^(licen[cs]e|copying|unlicense)(\.(txt|md|rst))?$", re.IGNORECASE)
_ANY = re.compile(r"^(licen[cs]e|copying|unlicense)([._-].*)?$", re.IGNORECASE)
_MAX_BYTES = 128 << 10
_MAX_FILES = 6
_TIMEOUT_SEC = 30.0
_FAMILIES = (
    "agpl",
    "lgpl",
    "gpl",
    "apache",
    "mpl",
    "bsd",
    "isc",
    "mit",
    "unlicense",
    "psf",
    "zlib",
    "cc0",
    "proprietary",
)
_SPELLED = {
    "affero": "agpl", "lesser": "lgpl", "general public": "gpl", "mozilla": "mpl", "python software": "psf",
}  # fmt: skip


class _Told(Record):
    askalono: tuple[str, float] | None
    spdx_matcher: tuple[str, ...]


class LicenceFile(Record):
    """What the detectors say of one file."""

    path: str
    askalono: str | None
    score: float
    spdx_matcher: tuple[str, ...]

    @property
    def licence(self) -> str | None:
        """The id both agree on."""
        same = self.askalono is not None and _base(self.askalono) in map(_base, self.spdx_matcher)
        return self.askalono if same and self.score >= SURE_SCORE else None


class Licence(Record):
    """The licence evidence of a commit."""

    files: tuple[LicenceFile, ...]
    declared: str | None
    """What the project's metadata says, as it stands there."""

    @property
    def primary(self) -> LicenceFile | None:
        """The file that speaks for the project."""
        return self.files[0] if self.files else None

    @property
    def contradicted(self) -> bool:
        """Whether the metadata names another family of licences than the file."""
        found = self.primary.licence if self.primary else None
        declared, detected = _family(self.declared or ""), _family(found or "")
        return declared is not None and detected is not None and declared != detected


def read_licence(repository: Repository, commit: str) -> Licence:
    """Read and detect the licence files in the root of the commit's tree; those of `LICENSES/` where there is none."""
    paths = [entry.path for entry in repository.tree_paths(commit) if entry.size is not None and entry.mode != "120000"]
    named = [path for path in paths if "/" not in path and _ANY.match(path) and not path.endswith(".py")]
    named = named or [path for path in paths if re.match(r"^LICENSES/[^/]+\.(txt|md)$", path)]
    named.sort(key=lambda path: (not _PRIMARY.match(path), path))
    files = [_detect(path, repository.read(commit, path) or b"") for path in named[:_MAX_FILES]]
    return Licence(files=tuple(files), declared=_declared(repository, commit))


def allowed(licence: str, licences: tuple[str, ...]) -> bool:
    """Whether the id is one of the allowed ones; `-only` and `-or-later` of one licence count alike."""
    return _base(licence) in {_base(item) for item in licences}


def _detect(path: str, content: bytes) -> LicenceFile:
    nothing = LicenceFile(path=path, askalono=None, score=0.0, spdx_matcher=())
    if len(content) > _MAX_BYTES or not content.strip():
        return nothing
    program = [sys.executable, "-I", str(Path(__file__).with_name("detector_process.py"))]
    try:
        done = subprocess.run(program, input=content, capture_output=True, timeout=_TIMEOUT_SEC, check=True, env={})
        told = TypeAdapter(_Told).validate_json(done.stdout)
    except (subprocess.SubprocessError, ValueError):
        return nothing
    name, score = told.askalono or (None, 0.0)
    return LicenceFile(path=path, askalono=name, score=round(score, 3), spdx_matcher=told.spdx_matcher)


def _declared(repository: Repository, commit: str) -> str | None:
    pyproject = repository.read(commit, "pyproject.toml") or b""
    try:
        project = tomllib.loads(pyproject.decode("utf-8", "replace")).get("project", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        project = {}
    field = project.get("license") if isinstance(project, dict) else None
    if isinstance(field, dict):
        field = field.get("text")
    if isinstance(field, str) and field.strip():
        return field.strip()[:80]
    for path in ("setup.cfg", "setup.py"):
        text = (repository.read(commit, path) or b"")[:_MAX_BYTES].decode("utf-8", "replace")
        found = re.search(r"^[ \t]*license[ \t]*=[ \t]*['\"]?([^'\"\n,]{2,80})", text, re.MULTILINE)
        if found:
            return found[1].strip()
    return None


def _base(licence: str) -> str:
    return re.sub(r"-(only|or-later)$", "", licence)


def _family(text: str) -> str | None:
    lower = text.lower()
    for spelled, family in _SPELLED.items():
        if spelled in lower:
            return family
    return next((family for family in _FAMILIES if re.search(rf"(?<![a-z]){family}", lower)), None)
