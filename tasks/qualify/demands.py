"""What it would take to check a change: a screen, a device, a live or paid service, secrets, another system."""

import re
import tomllib
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from pathlib import Path

from pydantic import ConfigDict

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Record
from blocks.repositories import LineEdits, Repository

_MAX_FILES = 12
_MAX_BYTES = 400_000


class Demand(StrEnum):
    """What a Linux container without a network has not."""

    SCREEN = "screen"
    DEVICE = "device"
    SERVICE = "service"
    SECRET = "secret"
    SYSTEM = "system"


class Need(Record):
    """One place that shows it."""

    demand: Demand
    path: str
    text: str


class Needs(Record):
    """What was found in an outcome."""

    found: tuple[Need, ...] = ()
    source_paths: tuple[str, ...] = ()
    bound_paths: tuple[str, ...] = ()
    """Changed source files that cannot be run without what they need."""
    tests_need: tuple[Need, ...] = ()
    """What the tests that came with the change need."""
    touches_tests: bool = False

    @property
    def all_bound(self) -> bool:
        """Whether no changed source file is free of it."""
        return bool(self.source_paths) and set(self.source_paths) == set(self.bound_paths)


_STATEMENT = (
    r"^[ \t]*(?:from[ \t]+(?:{0})(?:[ \t.]|$)|import[ \t]+(?:[\w., \t]*?,[ \t]*)?(?:{0})(?=[\s,.;]|$)"
    r"|#include[ \t]*[<\"](?:{0})\.h[>\"]|using[ \t]+(?:{0});"
    r"|(?:import|export)\b[^'\"\n]*['\"](?:{0})['\"]|(?:const|let|var)\b[^\n]*require\(['\"](?:{0})['\"]\))"
)
TABLE = Path(__file__).resolve().parents[2] / "data" / "demands.toml"
_ENDPOINT = re.compile(
    r"(?:requests|httpx|session|client|axios|urllib\.request)\.(?:get|post|put|delete|urlopen"
    r"|request)\([^)\n]{0,40}?['\"]https?://"
    r"(?!localhost|127\.|example\.|test)|\bfetch\([^)\n]{0,20}?['\"`]https?://(?!localhost|127\.|example\.|test)"
    r"|websockets?\.connect\(['\"]wss://"
)
_SECRET = re.compile(
    r"(?:os\.environ(?:\.get)?[\[(]|os\.getenv\(|process\.env[.\[]|getenv\()\s*['\"]?(\w*(?:API_?KEY|TOKEN|SECRET"
    r"|PASSWORD|CREDENTIALS?|_SID)\w*)"
)


def read_needs(repository: Repository, sha: str) -> Needs:
    """Read the changed files as they are after the commit; of tests, what was added."""
    changes = [change for change in repository.changes(sha) if change.new_mode != "000000"]
    edits = repository.edited_lines(sha)
    source = [change.path for change in changes if kind_of(change.path) is PathKind.SOURCE]
    found: list[Need] = []
    for path in source[:_MAX_FILES]:
        content = (repository.read(sha, path) or b"")[:_MAX_BYTES].decode("utf-8", "replace")
        found += _of_file(path, content)
        found += _of_lines(path, _added(edits.get(path)))
    tests = [change.path for change in changes if kind_of(change.path) is PathKind.TEST]
    tests_need = [need for path in tests for need in _of_lines(path, _added(edits.get(path)))]
    return Needs(
        found=tuple(found[:20]),
        source_paths=tuple(source),
        bound_paths=tuple(dict.fromkeys(need.path for need in found)),
        tests_need=tuple(tests_need[:10]),
        touches_tests=bool(tests),
    )


class _Signs(Record):
    """The patterns of one demand, compiled from data/demands.toml."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    demand: Demand
    statement: re.Pattern[str]
    include: re.Pattern[str] | None
    path: re.Pattern[str] | None


@cache
def _signs() -> tuple[_Signs, ...]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return tuple(
        _Signs(
            demand=Demand(name),
            statement=re.compile(_STATEMENT.format("|".join(entry["imports"])), re.MULTILINE),
            include=re.compile(rf"^[ \t]*#include[ \t]*[<\"]{entry['include']}", re.M) if "include" in entry else None,
            path=re.compile(entry["path"]) if "path" in entry else None,
        )
        for name, entry in table.items()
    )


def _of_file(path: str, content: str) -> Iterable[Need]:
    for signs in _signs():
        if signs.path and signs.path.search(path):
            yield Need(demand=signs.demand, path=path, text=path.rpartition("/")[2][:120])
        for pattern in (signs.statement, signs.include):
            if pattern and (match := pattern.search(content)):
                yield Need(demand=signs.demand, path=path, text=match[0].strip()[:120])


def _of_lines(path: str, lines: list[str]) -> Iterable[Need]:
    for line in lines:
        if _ENDPOINT.search(line):
            yield Need(demand=Demand.SERVICE, path=path, text=line.strip()[:120])
        elif _SECRET.search(line):
            yield Need(demand=Demand.SECRET, path=path, text=line.strip()[:120])


def _added(edit: LineEdits | None) -> list[str]:
    return [] if edit is None else [line for hunk in edit.hunks for line in hunk.added]
