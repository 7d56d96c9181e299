"""The package index, asked from one fetch container: what fits together as of a date, wheels, source distributions.

Nothing that is fetched runs here: the resolver takes wheels, and of what exists as source only the metadata it is given.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import tomli_w
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from pydantic import TypeAdapter

import blocks.builder.source_fetch
from blocks.builder.packages import keep_package
from blocks.builder.places import AGENT_UID, AGENT_USER, SYSTEM_PYTHON
from blocks.engine import Container, ContainerSpec, ExecResult, Network, Role, fetch_environment
from blocks.errors import TransientError
from blocks.lake import ObjectStore
from blocks.recipe import Package
from blocks.records import Record
from blocks.settings import Settings
from blocks.trees import File
from tasks.archaeology.source_facts import Metadata, as_uv

NETWORK_FAULT = re.compile(
    r"error sending request|dns error|connection (refused|reset)|timed out|temporary failure in name resolution|HTTP (429|5\d\d)",
    re.I,
)
FOLDER = "/tmp/fetch"
_TEMPORARY = 75
_SOURCE_ONLY = re.compile(
    r"Wheels are required for `([A-Za-z0-9][\w.-]*)`|([A-Za-z0-9][\w.-]*?)(?:[=<>!~]\S+)? has no usable wheels"
)
_MOST_PACKAGES = 2 << 30


class Sdist(Record):
    """A source distribution that a resolution chose."""

    name: str
    version: str
    filename: str
    url: str
    sha256: str


@dataclass(frozen=True)
class Question:
    """What is asked of the index. `without`: the project itself, which is never fetched, whoever asks for it."""

    requirements: tuple[str, ...]
    as_of: datetime
    runtime: str
    without: str | None = None
    constraints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lock:
    """What fits together: every release, and those of them that come as source."""

    pins: Mapping[str, str]
    sdists: tuple[Sdist, ...]


@dataclass(frozen=True)
class Refused:
    """Nothing fits together. `source_only`: packages for which the resolver would have wanted a wheel."""

    said: str
    source_only: frozenset[str] = frozenset()


Known = Mapping[str, Mapping[str, Metadata]]
"""Packages that are taken as source, with the metadata of the releases that are known."""


class Index(Protocol):
    """What resolving asks for."""

    def lock(self, question: Question, known: Known) -> Lock | Refused:
        """Resolve. Raises TransientError where the index cannot be reached."""
        ...

    def wheels(self, question: Question, known: Known) -> tuple[Package, ...] | str:
        """Resolve, and fetch all that is not taken as source; a text says why that cannot be."""
        ...

    def sdists(self, wanted: Sequence[Sdist]) -> tuple[dict[str, bytes], dict[str, dict[str, str]]] | str:
        """Fetch source distributions, by hash: their bytes and their telling texts, by file name."""
        ...


def index_spec(settings: Settings, image: str) -> ContainerSpec:
    """The fetch container. Its commands run as the unprivileged user too: they have no need of more."""
    environment, files = fetch_environment(settings)
    return ContainerSpec(
        image=image,
        role=Role.FETCH,
        network=Network.FETCH,
        user=AGENT_USER,
        deadline_sec=4 * settings.timeouts.fetch_sec + 2 * settings.timeouts.install_sec,
        environment=tuple({**environment, "HOME": "/tmp/home"}.items()),
        memory_files=files,
    )


@dataclass
class ContainerIndex:
    """The index as uv and pip see it from a container of `index_spec`."""

    box: Container
    store: ObjectStore
    settings: Settings
    _asked: int = field(default=0, init=False)

    def lock(self, question: Question, known: Known) -> Lock | Refused:
        """By uv, into a pylock.toml (PEP 751)."""
        folder = self._place(question, known)
        path = f"{folder}/pylock.toml"
        said = self._run(_compile(question, known, folder, path, form="pylock.toml"))
        if said:
            names = {canonicalize_name(first or second) for first, second in _SOURCE_ONLY.findall(said)}
            return Refused(said, frozenset(names))
        content = self.box.get_file(path, max_bytes=64 << 20) or b""
        return read_lock(content.decode("utf-8", "replace"))

    def wheels(self, question: Question, known: Known) -> tuple[Package, ...] | str:
        """By uv into a lock with hashes, and by pip from it."""
        folder = self._place(question, known)
        said = self._run(_compile(question, known, folder, f"{folder}/lock.txt", form="requirements.txt"))
        if said:
            return said
        argv = ["python3", "-m", "pip", "--disable-pip-version-check", "-q", "download", "--only-binary", ":all:"]
        argv += ["--no-deps", "--require-hashes", "-r", f"{folder}/lock.txt", "-d", f"{folder}/wheels"]
        said = self._run(["mkdir", "-p", f"{folder}/wheels"]) or self._run(argv)
        if said:
            return said
        packages = []
        for filename, file in sorted(self.box.get_tree(f"{folder}/wheels", max_bytes=_MOST_PACKAGES).items()):
            try:
                name, version, _, _ = parse_wheel_filename(filename)
            except InvalidWheelFilename as error:
                return str(error)
            if question.without is None or name != canonicalize_name(question.without):
                packages.append(keep_package(self.store, name, str(version), filename, file.content))
        return tuple(packages)

    def sdists(self, wanted: Sequence[Sdist]) -> tuple[dict[str, bytes], dict[str, dict[str, str]]] | str:
        """By a script of ours, since pip runs a package's code to download its source."""
        folder = self._folder()
        orders = TypeAdapter(list[dict[str, str]]).dump_json(
            [{"url": one.url, "sha256": one.sha256, "filename": one.filename} for one in wanted]
        )
        script = Path(blocks.builder.source_fetch.__file__).read_bytes()
        self._put(folder, {"source_fetch.py": script, "orders.json": orders})
        got = f"{folder}/sdists"
        argv = [SYSTEM_PYTHON, "-B", f"{folder}/source_fetch.py", f"{folder}/orders.json", got]
        said = self._run(["mkdir", "-p", got]) or self._run(argv)
        if said:
            return said
        files = {path: file.content for path, file in self.box.get_tree(got, max_bytes=_MOST_PACKAGES).items()}
        facts = TypeAdapter(dict[str, dict[str, str]]).validate_json(files.pop("facts.json"))
        for one in wanted:
            if hashlib.sha256(files.get(one.filename, b"")).hexdigest() != one.sha256:
                return f"{one.filename} was not downloaded as the index says it is"
        return files, facts

    def _place(self, question: Question, known: Known) -> str:
        folder = self._folder()
        lines = {"requirements.in": question.requirements, "constraints.txt": question.constraints}
        files = {name: "\n".join([*items, ""]).encode() for name, items in lines.items()}
        self._put(folder, {**files, "uv.toml": tomli_w.dumps(as_uv(known)).encode()})
        return folder

    def _folder(self) -> str:
        self._asked += 1
        return f"{FOLDER}/{self._asked}"

    def _put(self, folder: str, files: Mapping[str, bytes]) -> None:
        tree = {name: File(content=content) for name, content in files.items()}
        self.box.put_tree(tree, folder, uid=AGENT_UID, gid=AGENT_UID)

    def _run(self, argv: Sequence[str]) -> str:
        """Empty when it worked, else the tail of what it said. Raises TransientError for faults of the network."""
        done: ExecResult = self.box.run(argv, timeout_sec=self.settings.timeouts.fetch_sec)
        if done.exit_code == 0:
            return ""
        said = done.output[-4000:].strip() or f"{argv[0]} ended with {done.exit_code}"
        if done.timed_out or done.exit_code == _TEMPORARY or NETWORK_FAULT.search(said):
            raise TransientError(f"fetching packages: the index cannot be reached or is too slow: {said[-300:]}")
        return said


def read_lock(text: str) -> Lock | Refused:
    """A pylock.toml: one package a name. What comes from elsewhere than an index is refused."""
    try:
        document = tomllib.loads(text)
        pins: dict[str, str] = {}
        sdists: list[Sdist] = []
        for package in document.get("packages", []):
            name, version = canonicalize_name(str(package["name"])), str(package["version"])
            pins[name] = version
            if not package.get("wheels"):
                url = str(package["sdist"]["url"])
                filename = Path(unquote(urlsplit(url).path)).name
                sha256 = str(package["sdist"]["hashes"]["sha256"])
                sdists.append(Sdist(name=name, version=version, filename=filename, url=url, sha256=sha256))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Refused(f"the resolver's lock cannot be used: {error!r}")
    return Lock(pins, tuple(sdists))


def _compile(question: Question, known: Known, folder: str, out: str, *, form: str) -> list[str]:
    argv = ["uv", "pip", "compile", f"{folder}/requirements.in", "--python-version", question.runtime]
    argv += ["--config-file", f"{folder}/uv.toml", "--exclude-newer", question.as_of.strftime("%Y-%m-%dT%H:%M:%SZ")]
    argv += ["--no-header", "--no-annotate", "--no-progress", "-q", "--format", form, "-o", out]
    argv += ["--constraint", f"{folder}/constraints.txt"] if question.constraints else []
    argv += ["--no-emit-package", question.without] if question.without else []
    argv += ["--only-binary", ":all:"]
    for name in sorted(known):
        argv += ["--no-binary", name]
        argv += ["--no-emit-package", name] if form == "requirements.txt" else []
    return [*argv, "--generate-hashes"] if form == "requirements.txt" else argv
