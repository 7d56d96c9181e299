"""The table of remedies (data/remedies.toml): what a log says, and what is tried for it."""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter

from blocks.records import Record

FILE = Path(__file__).parents[2] / "data" / "remedies.toml"
MOST_FIXES = 12
"""Fixes of one round."""
_MOST_TEXT = 400_000
"""Characters of a log that are looked at: its end."""


class Action(StrEnum):
    """What a stack can be asked to change about its plan."""

    ADD_REQUIREMENT = "add_requirement"
    ADD_MODULE = "add_module"
    """The distribution that has this module; a folder of the project that has it goes on the import path."""
    ADD_FIXTURE = "add_fixture"
    ADD_OPTION = "add_option"
    ADD_SYSTEM_PACKAGE = "add_system_package"
    ADD_COMMAND = "add_command"
    ADD_HEADER = "add_header"
    ADD_LIBRARY = "add_library"
    DROP_REQUIREMENT = "drop_requirement"
    LOOSEN_REQUIREMENT = "loosen_requirement"
    SET_ENVIRONMENT = "set_environment"
    SET_VERSION = "set_version"
    LATER = "later"
    """Days after the outcome up to which releases are used."""
    RUNTIME = "runtime"
    """`older` or `newer`."""
    BUILD = "build"
    """The package of the workspace that is built before the tests, by its name; `.` for the project itself."""

    @property
    def adds(self) -> bool:
        """Several of these can be tried at once; each of the others is tried alone."""
        return self.value.startswith("add_")


class Remedy(Record):
    """One line of the table; see the head of the file for what the fields mean."""

    name: str
    log: str
    symptom: str
    action: Action
    argument: str
    stacks: tuple[str, ...] = ("python",)


class Fix(Record):
    """One thing to try, and the words of the log that called for it."""

    action: Action
    argument: str
    symptom: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """Two fixes of the same key do the same."""
        return self.action.value, self.argument


class Evidence(Record):
    """What went wrong, by where it was said. Text of the repository's: hostile."""

    resolve: str = ""
    source: str = ""
    """What the build of a package said that exists as source only."""
    install: str = ""
    collect: str = ""
    tests: str = ""
    skips: str = ""


def read_remedies() -> tuple[Remedy, ...]:
    """The table, in the order in which it is tried."""
    document = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return TypeAdapter(tuple[Remedy, ...]).validate_python(document["remedy"])


def find_fixes(
    remedies: Iterable[Remedy], evidence: Evidence, *, stack: str, tried: Collection[tuple[str, str]]
) -> list[Fix]:
    """What to try next: what adds something, together; else the first of what changes something. Never what was tried."""
    found: dict[tuple[str, str], Fix] = {}
    for remedy in remedies:
        if stack not in remedy.stacks:
            continue
        for fix in _fixes(remedy, getattr(evidence, remedy.log)[-_MOST_TEXT:]):
            if fix.key in tried or fix.key in found:
                continue
            if not remedy.action.adds:
                return list(found.values()) or [fix]
            found[fix.key] = fix
            if len(found) >= MOST_FIXES:
                return list(found.values())
    return list(found.values())


def _fixes(remedy: Remedy, text: str) -> Iterator[Fix]:
    for match in re.finditer(remedy.symptom, text, re.MULTILINE):
        argument = remedy.argument
        for number, group in enumerate(match.groups(), start=1):
            argument = argument.replace(f"{{{number}}}", group or "")
        yield Fix(action=remedy.action, argument=argument, symptom=match[0][:200], name=remedy.name)
