"""Source distributions made by hand, and an index that answers from a table."""

import hashlib
import io
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from blocks.recipe import Package
from tasks.archaeology.index import Known, Lock, Question, Refused, Sdist
from tasks.archaeology.source_facts import build_system
from tasks.archaeology.source_packages import Source


def sdist(name: str, version: str, files: Mapping[str, str]) -> tuple[Sdist, bytes]:
    """A .tar.gz with one folder at its top."""
    buffer = io.BytesIO()
    top = f"{name}-{version}"
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    content = buffer.getvalue()
    sha256 = hashlib.sha256(content).hexdigest()
    filename = f"{top}.tar.gz"
    return Sdist(name=name, version=version, filename=filename, url=f"https://x/{filename}", sha256=sha256), content


def source(name: str, version: str, files: Mapping[str, str]) -> Source:
    """The same as it is given to a builder."""
    one, content = sdist(name, version, files)
    return Source(one, content, build_system(files.get("pyproject.toml")))


@dataclass
class TableIndex:
    """Newest releases first; a release that comes as source is known by its sdist alone."""

    wheels_of: Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]
    sources_of: Mapping[str, Sequence[tuple[str, Mapping[str, str]]]]
    """By name: version and the telling texts of its source."""
    fetched: list[str] = field(default_factory=list)

    def lock(self, question: Question, known: Known) -> Lock | Refused:
        """Breadth first, no way back: enough for a table."""
        pins: dict[str, str] = {}
        sdists: list[Sdist] = []
        waiting = list(question.requirements)
        while waiting:
            name, _, bound = waiting.pop(0).partition("<")
            if name in pins:
                continue
            if name in self.wheels_of:
                version, needs = self.wheels_of[name][0]
            elif name not in known:
                return Refused(f"{name} has no usable wheels", frozenset({name}))
            else:
                fits = [item for item in self.sources_of[name] if not bound or item[0] < bound]
                if not fits:
                    return Refused(f"nothing of {name} fits <{bound}")
                version, metadata = fits[0][0], known[name].get(fits[0][0])
                needs = metadata.requires if metadata else ()
                sdists.append(sdist(name, version, {})[0])
            pins[name] = version
            waiting += needs
        return Lock(pins, tuple(sdists))

    def wheels(self, question: Question, known: Known) -> tuple[Package, ...] | str:
        lock = self.lock(question, known)
        assert isinstance(lock, Lock)
        return tuple(
            Package(name=name, version=version, filename=f"{name}.whl", sha256="")
            for name, version in lock.pins.items()
            if name not in known
        )

    def sdists(self, wanted: Sequence[Sdist]) -> tuple[dict[str, bytes], dict[str, dict[str, str]]] | str:
        self.fetched += [f"{one.name} {one.version}" for one in wanted]
        texts = {one.filename: dict(dict(self.sources_of[one.name])[one.version]) for one in wanted}
        return {one.filename: b"" for one in wanted}, texts
