"""Building a source distribution: what its build needs is fetched first, then it runs alone, unprivileged, offline.

Each try is a fresh container that holds the source, the tools of its build and nothing else. There is no exception for
builds that want a network: they have none, and fail.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version
from pydantic import TypeAdapter, ValidationError

import blocks.builder.source_build
from blocks.builder.packages import keep_package, load_package, wheelhouse
from blocks.builder.places import AGENT_UID, AGENT_USER
from blocks.engine import Container, ContainerSpec, Engine, ExecResult, Role
from blocks.errors import PermanentError
from blocks.lake import ObjectMissingError, ObjectStore
from blocks.recipe import Package
from blocks.records import Record
from blocks.settings import Settings
from blocks.trees import EPOCH, File
from tasks.archaeology.index import Index, Question
from tasks.archaeology.python_names import python_names
from tasks.archaeology.remedies import Action, Evidence, Fix, find_fixes, read_remedies
from tasks.archaeology.source_facts import plain_requirements, wheel_metadata
from tasks.archaeology.source_packages import Source, Wheel, resolve_with_sources

BUILD_VERSION = 1
MOST_TRIES = 5
DEEPEST = 2
"""Tools of a build that are themselves source only: so many times one below the other."""
_INSTALLERS = frozenset({"pip", "setuptools", "wheel"})
_MOST_WHEEL = 1 << 30
_FOLDER = "/tmp/build"


class KeptWheel(Record):
    """A build as the store keeps it."""

    package: Package
    note: str


@dataclass
class WheelBuilder:
    """Builds on one image: the runtime with the candidate's Debian packages."""

    engine: Engine
    store: ObjectStore
    settings: Settings
    image: str
    index: Index
    depth: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """What a build said, by key: one way to resolve asks for what another has tried."""

    def build(self, source: Source, question: Question, pins: Sequence[str]) -> Wheel | str:
        """See Builder. A build that worked once on this image is taken from the store."""
        key = self._key(source, question)
        if key in self.failed:
            return self.failed[key]
        if (kept := self._kept(key, source)) is not None:
            return kept
        made = self._tries(source, question, pins)
        if isinstance(made, str):
            self.failed[key] = made
        else:
            record = KeptWheel(package=made.package, note=made.note)
            self.store.put_if_absent(key, record.model_dump_json().encode())
        return made

    def _tries(self, source: Source, question: Question, pins: Sequence[str]) -> Wheel | str:
        needs, tried = source.system.requires, set[tuple[str, str]]()
        asked: tuple[str, ...] = ()
        found: tuple[str, ...] = ()
        said = "its build asks for ever more"
        for _ in range(MOST_TRIES):
            tools = self._tools((*needs, *asked, *found), question, pins)
            if isinstance(tools, str):
                return tools
            made = self._run(source, tools, (*needs, *asked))
            if isinstance(made, Wheel):
                return replace(made, note=_note(found))
            if isinstance(made, tuple):
                asked = tuple(dict.fromkeys((*asked, *made)))
                continue
            said = made
            fixes = find_fixes(read_remedies(), Evidence(source=said), stack="python", tried=tried)
            tried |= {fix.key for fix in fixes}
            more = [text for fix in fixes if (text := _requirement(fix)) and text not in (*needs, *asked, *found)]
            if not more:
                return said
            found = (*found, *more)
        return said

    def _tools(self, needs: Sequence[str], question: Question, pins: Sequence[str]) -> tuple[Package, ...] | str:
        """What a build needs, as of the same date. What it asks for without a bound is taken as the resolution has it:
        what is compiled against one numpy may not run with another.
        """
        if self.depth >= DEEPEST:
            return "its build needs tools that exist as source only, and so do theirs"
        narrowed = _narrowed(needs)
        free = {canonicalize_name(one.name) for one in map(Requirement, narrowed) if not one.specifier} - _INSTALLERS
        kept = tuple(pin for pin in pins if canonicalize_name(Requirement(pin).name) in free)
        inner = replace(self, depth=self.depth + 1, failed=self.failed)
        asked = Question(narrowed, question.as_of, question.runtime, constraints=kept)
        found = resolve_with_sources(self.index, inner, asked)
        return found if isinstance(found, str) else found.packages

    def _run(self, source: Source, tools: Sequence[Package], given: Sequence[str]) -> Wheel | tuple[str, ...] | str:
        """One try: a wheel, or what the build asks for besides, or what went wrong."""
        timeout_sec = self.settings.timeouts.install_sec
        spec = ContainerSpec(image=self.image, role=Role.SUBJECT, user=AGENT_USER, deadline_sec=timeout_sec + 120)
        script = Path(blocks.builder.source_build.__file__).read_bytes()
        with self.engine.container(spec) as box:
            files = {source.sdist.filename: File(content=source.content), "source_build.py": File(content=script)}
            box.put_tree(files, _FOLDER, uid=AGENT_UID, gid=AGENT_UID)
            box.put_tree(wheelhouse(self.store, tools), f"{_FOLDER}/tools", uid=AGENT_UID, gid=AGENT_UID)
            done = _install(box, tools, timeout_sec)
            if not done.ok:
                return f"its tools cannot be installed: {done.output[-1500:]}"
            done = box.run(
                [f"{_FOLDER}/venv/bin/python", "-B", f"{_FOLDER}/source_build.py", _orders(source, given)],
                workdir=_FOLDER,
                environment={"SOURCE_DATE_EPOCH": str(EPOCH), "PYTHONHASHSEED": "0", "HOME": "/tmp/agent"},
                timeout_sec=timeout_sec,
            )
            if not done.ok:
                return _why(done)
            try:
                asked = box.get_file(f"{_FOLDER}/asked.json", max_bytes=1 << 20)
                wheels = {} if asked else box.get_tree(f"{_FOLDER}/out", max_bytes=_MOST_WHEEL)
            except (
                PermanentError
            ) as error:  # What lies there is the build's: a folder in place of a file, too much of it.
                return f"what it left cannot be taken: {error}"
        if asked:
            try:
                return plain_requirements(TypeAdapter(list[str]).validate_json(asked))[:50]
            except ValidationError:
                return "what its build asks for cannot be read"
        return self._take(source, wheels)

    def _take(self, source: Source, files: dict[str, File]) -> Wheel | str:
        """The one wheel of a build, where it is of the release that was to be built."""
        one = source.sdist
        names = [name for name, file in files.items() if name.endswith(".whl") and file.link is None]
        if len(names) != 1:
            return f"the build left {len(names)} wheels"
        try:
            name, version, _, _ = parse_wheel_filename(names[0])
        except InvalidWheelFilename as error:
            return str(error)
        content = files[names[0]].content
        metadata = wheel_metadata(content, one.name, one.version)
        if isinstance(metadata, str):
            return metadata
        if name != canonicalize_name(one.name) or version != Version(one.version):
            return f"the build of {one.name} {one.version} made {names[0][:200]}"
        return Wheel(keep_package(self.store, name, one.version, names[0], content), metadata)

    def _key(self, source: Source, question: Question) -> str:
        parts = [BUILD_VERSION, self.image, source.sdist.sha256, question.as_of.isoformat(), question.runtime]
        return f"resolutions/built-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}.json"

    def _kept(self, key: str, source: Source) -> Wheel | None:
        try:
            kept = KeptWheel.model_validate_json(self.store.get(key))
        except (ObjectMissingError, ValidationError):  # Another version's record is none.
            return None
        content = load_package(self.store, kept.package)
        metadata = wheel_metadata(content, source.sdist.name, source.sdist.version)
        return None if isinstance(metadata, str) else Wheel(kept.package, metadata, kept.note)


def _install(box: Container, tools: Sequence[Package], timeout_sec: int) -> ExecResult:
    """The tools of a build in an environment of their own. Wheels run nothing when they are installed."""
    venv, out = f"{_FOLDER}/venv", f"{_FOLDER}/out"
    steps = [
        ["mkdir", "-p", out, "/tmp/agent"],
        ["uv", "venv", "-q", "--offline", "--no-python-downloads", "--python", "/usr/bin/python3", venv],
    ]
    if tools:
        names = [f"{tool.name}=={tool.version}" for tool in tools]
        options = ["--offline", "--no-index", "--no-deps", "--no-cache", "--find-links", f"{_FOLDER}/tools"]
        steps.append(["uv", "pip", "install", "-q", "--python", f"{venv}/bin/python", *options, *names])
    for argv in steps:
        done = box.run(argv, environment={"HOME": "/tmp/agent"}, timeout_sec=timeout_sec)
        if not done.ok:
            break
    return done


def _orders(source: Source, given: Sequence[str]) -> str:
    return json.dumps(
        {
            "archive": f"{_FOLDER}/{source.sdist.filename}",
            "out": f"{_FOLDER}/out",
            "backend": source.system.backend,
            "backend_path": list(source.system.backend_path),
            "given": list(given),
        }
    )


def _narrowed(needs: Sequence[str]) -> tuple[str, ...]:
    """Each once; a setuptools that a remedy asks for stands in for the one that was asked for without a bound."""
    items = dict.fromkeys(needs)
    bounded = {canonicalize_name(Requirement(text).name) for text in items if Requirement(text).specifier}
    return tuple(
        text
        for text in items
        if Requirement(text).specifier or canonicalize_name(Requirement(text).name) not in bounded
    )


def _requirement(fix: Fix) -> str | None:
    if fix.action is Action.ADD_MODULE:
        return python_names().distribution(fix.argument)
    try:
        return str(Requirement(fix.argument)) if fix.action is Action.ADD_REQUIREMENT else None
    except InvalidRequirement:
        return None


def _why(done: ExecResult) -> str:
    said = done.output[-3000:].strip()
    if done.written_limit:
        return f"it wrote more than it may: {said[-500:]}"
    if done.timed_out:
        return f"it did not end in time: {said[-500:]}"
    return said or f"it ended with {done.exit_code}"


def _note(found: Sequence[str]) -> str:
    return f"with {', '.join(found)}, which its build imports and does not ask for" if found else ""
