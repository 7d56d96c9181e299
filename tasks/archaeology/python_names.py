"""Names that differ between worlds (data/python_names.toml): modules and distributions, commands and Debian packages."""

import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from packaging.utils import canonicalize_name

from blocks.records import Record

FILE = Path(__file__).parents[2] / "data" / "python_names.toml"


class LeftOut(Record):
    """What CI installs for the work around the tests."""

    requirements: tuple[str, ...]
    system: tuple[str, ...]


class Names(Record):
    """The tables of the file."""

    imports: Mapping[str, str]
    fixtures: Mapping[str, str]
    options: Mapping[str, str]
    commands: Mapping[str, str]
    headers: Mapping[str, str]
    libraries: Mapping[str, str]
    standard: Mapping[str, str]
    backends: Mapping[str, tuple[str, ...]]
    left_out: LeftOut

    def distribution(self, module: str) -> str | None:
        """What to install for a module; None for the standard library's."""
        parts = module.split(".")
        for length in range(len(parts), 0, -1):
            if found := self.imports.get(".".join(parts[:length])):
                return found
        return None if parts[0] in sys.stdlib_module_names or parts[0].startswith("_") else parts[0]

    def header_package(self, header: str) -> str | None:
        """The Debian package of a header, named as the compiler named it."""
        names = (header, header.rpartition("/")[2], header.partition("/")[0] + "/")
        return next((self.headers[name] for name in names if name in self.headers), None)

    def library_package(self, file: str) -> str | None:
        """The Debian package of a shared library's file."""
        return self.libraries.get(re.split(r"[-.]", file)[0])

    def is_work_around(self, requirement: str) -> bool:
        """Whether a distribution is a tool of the work around the tests."""
        return canonicalize_name(requirement) in self.left_out.requirements

    def is_useful(self, debian: str) -> bool:
        """Whether a Debian package of a CI job is installed here."""
        plain = re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", debian)
        return bool(plain) and not any(re.fullmatch(pattern, debian) for pattern in self.left_out.system)


@cache
def python_names() -> Names:
    """The file, read once."""
    return Names.model_validate(tomllib.loads(FILE.read_text(encoding="utf-8")))
