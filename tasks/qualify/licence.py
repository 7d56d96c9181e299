"""The licence of a commit, by two detectors that must agree, and what the project's metadata declares."""

import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from pydantic import TypeAdapter

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Record
from blocks.repositories import Repository
from blocks.repositories.records import SUBMODULE_MODE

SURE_SCORE = 0.9
"""askalono's score from which its answer counts (0.95 refused licence files that only carry a long list of authors)."""

_PRIMARY = re.compile(r"^(licen[cs]e|copying|unlicense)(\.(txt|md|rst))?$", re.IGNORECASE)
_ANY = re.compile(r"^(licen[cs]e|copying|unlicense)([._-].*)?$", re.IGNORECASE)
_NOT_FREE = re.compile(
    r"(^|[/._-])(ee|enterprise|commercial|proprietary|non-?commercial|elastic|busl|bsl-1\.1|sspl)([/._-]|$)", re.I
)
_BUNDLED = re.compile(r"bundled|third|notice|dependenc|fonts?|assets|vendor|extern", re.IGNORECASE)
_MAX_FOLDERS = 12
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
    folders: tuple[LicenceFile, ...] = ()
    """Licence files of folders, vendored code, tests and documentation left out: exceptions from the project's licence."""
    submodules: tuple[str, ...] = ()
    """Paths of submodules; each has a licence of its own, which the repository does not hold."""

    def exceptions(self, allowed_ids: tuple[str, ...]) -> tuple[LicenceFile, ...]:
        """Files beside the primary one whose licence is not allowed, or that speak of an edition that is not free."""
        others = [*self.files[1:], *self.folders]
        return tuple(file for file in others if _is_exception(file, allowed_ids))

    @property
    def primary(self) -> LicenceFile | None:
        """The file that speaks for the project."""
        return self.files[0] if self.files else None

    @property
    def contradicted(self) -> bool:
        """Whether the metadata names a family of licences that none of the files in the root is of."""
        declared = _family(self.declared or "")
        detected = {family for file in self.files if (family := _family(file.licence or ""))}
        return declared is not None and bool(detected) and declared not in detected


def read_licence(repository: Repository, commit: str) -> Licence:
    """Read and detect the licence files in the root of the commit's tree; those of `LICENSES/` where there is none."""
    paths = [entry.path for entry in repository.tree_paths(commit) if entry.size is not None and entry.mode != "120000"]
    named = [path for path in paths if "/" not in path and _ANY.match(path) and not path.endswith(".py")]
    named = named or [path for path in paths if re.match(r"^LICENSES/[^/]+\.(txt|md)$", path)]
    named.sort(key=lambda path: (not _PRIMARY.match(path), path))
    files = [_detect(path, repository.read(commit, path) or b"") for path in named[:_MAX_FILES]]
    below = [path for path in paths if "/" in path and _ANY.match(path.rpartition("/")[2]) and _is_own(path)]
    known: dict[str, LicenceFile] = {}
    detected: dict[str, LicenceFile] = {}
    for path in sorted(below, key=lambda one: (one.count("/"), one))[:_MAX_FOLDERS]:
        content = repository.read(commit, path) or b""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in known:
            known[digest] = _detect(path, content)
        detected[path] = known[digest].model_copy(update={"path": path})
    folders = tuple(detected[path] for path in below if path in detected)
    submodules = tuple(entry.path for entry in repository.tree_paths(commit) if entry.mode == SUBMODULE_MODE)
    return Licence(files=tuple(files), declared=_declared(repository, commit), folders=folders, submodules=submodules)


def _is_own(path: str) -> bool:
    """Whether a licence file in a folder speaks for code of the project."""
    beside = f"{path.rpartition('/')[0]}/code.py"
    return not path.endswith(".py") and not path.startswith("LICENSES/") and kind_of(beside) is PathKind.SOURCE


def _is_exception(file: LicenceFile, allowed_ids: tuple[str, ...]) -> bool:
    if _NOT_FREE.search(file.path):
        return True
    if file.licence is not None:
        return not allowed(file.licence, allowed_ids)
    return file.path.count("/") > 0 and not _BUNDLED.search(file.path) and not file.askalono and not file.spdx_matcher


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
