"""What a model may look at: the repository at the start commit, and its history. Nothing is run, nothing is written, and
every answer is bounded. What is wrong with a call is told to the model, as far as it is its fault.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache

from pydantic import Field, ValidationError

from blocks.llm import ToolResult, ToolSpec, cut
from blocks.records import Record
from blocks.repositories import GitError, ObjectsMissingError, Repository
from blocks.repositories.git import git_output, run_git

MAX_ENTRIES = 300
MAX_LINES = 250
MAX_LINE = 400
MAX_MATCHES = 60
MAX_COMMITS = 40
MAX_PATCH = 10_000
MAX_FILE = 2_000_000


class Listing(Record):
    """List the files of a folder at the start commit (all below it)."""

    folder: str = Field(default="", max_length=500, description="relative, e.g. src/tea; empty: everything")


class Reading(Record):
    """Read lines of a file at the start commit. Every line begins with its number."""

    path: str = Field(max_length=500)
    first_line: int = Field(default=1, ge=1)


class Searching(Record):
    """Search for a fixed text in the files of the start commit, without regard to case."""

    text: str = Field(min_length=2, max_length=200)
    folder: str = Field(default="", max_length=500)


class Logging(Record):
    """List commits of all branches that came after the start commit, oldest first: id, date, subject."""

    path: str = Field(default="", max_length=500, description="only commits that touch this file or folder")
    skip: int = Field(default=0, ge=0, le=10_000)


class Showing(Record):
    """Show a commit: message, changed files, patch."""

    commit: str = Field(min_length=7, max_length=40, pattern="^[0-9a-f]+$")
    path: str = Field(default="", max_length=500, description="only the patch of this file")


class RepositoryTools:
    """Tools over one mirror. `window_days`: how far `log` looks."""

    def __init__(self, repository: Repository, start: str, window_days: int) -> None:
        self.repository = repository
        self.start = start
        self.window_days = window_days
        self._tools: Mapping[str, tuple[type[Record], Callable[..., str]]] = {
            "list": (Listing, self._list),
            "read": (Reading, self._read),
            "search": (Searching, self._search),
            "log": (Logging, self._log),
            "show": (Showing, self._show),
        }

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What there is."""
        return tuple(_spec(name, kind) for name, (kind, _) in self._tools.items())

    async def call(self, name: str, arguments: str) -> ToolResult:
        """Do one call, in a thread."""
        if name not in self._tools:
            told = f"there is no tool {name[:80]!r}; there are {', '.join(self._tools)}"
            return ToolResult(text=told, ok=False)
        kind, tool = self._tools[name]
        try:
            asked = kind.model_validate_json(arguments or "{}")
        except ValidationError as error:
            faults = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors()[:3]]
            return ToolResult(text="; ".join(faults), ok=False)
        try:
            return ToolResult(text=await asyncio.to_thread(tool, asked))
        except (_WrongCallError, GitError, ObjectsMissingError) as error:
            return ToolResult(text=cut(str(error), 500), ok=False)

    def _list(self, asked: Listing) -> str:
        folder = _folder(asked.folder)
        found = [entry for entry in self.repository.tree_paths(self.start) if entry.path.startswith(folder)]
        if not found:
            raise _WrongCallError(f"there is no folder {asked.folder!r}")
        lines = [
            f"{entry.path} {entry.size if entry.size is not None else 'submodule'}" for entry in found[:MAX_ENTRIES]
        ]
        return "\n".join([*lines, *_more(len(found) - MAX_ENTRIES, "files; list a folder below")])

    def _read(self, asked: Reading) -> str:
        lines = file_lines(self.repository, self.start, asked.path)
        if lines is None:
            raise _WrongCallError(f"there is no text file {asked.path!r} at the start commit")
        if asked.first_line > max(1, len(lines)):
            raise _WrongCallError(f"{asked.path!r} has {len(lines)} lines")
        shown = lines[asked.first_line - 1 : asked.first_line - 1 + MAX_LINES]
        numbered = [f"{number}: {line[:MAX_LINE]}" for number, line in enumerate(shown, start=asked.first_line)]
        return "\n".join([*numbered, *_more(len(lines) - asked.first_line + 1 - len(shown), "lines")])

    def _search(self, asked: Searching) -> str:
        argv = [
            "grep",
            "-n",
            "-I",
            "-i",
            "--no-color",
            "--no-textconv",
            "--full-name",
            "--fixed-strings",
            "-e",
            asked.text,
        ]
        folder = _folder(asked.folder)
        result = run_git(
            [*argv, self.start, "--", *([folder.rstrip("/")] if folder else [])], git_dir=self.repository.path
        )
        if result.code not in (0, 1):
            raise _WrongCallError("the search failed; search for something else")
        prefix = f"{self.start}:"
        lines = [line.removeprefix(prefix)[:MAX_LINE] for line in result.output.decode("utf-8", "replace").splitlines()]
        return "\n".join([*lines[:MAX_MATCHES], *_more(len(lines) - MAX_MATCHES, "matches")]) or "nothing found"

    def _log(self, asked: Logging) -> str:
        begin = self.repository.commit(self.start).committed_at
        end = begin + timedelta(days=self.window_days)
        path = _folder(asked.path).rstrip("/")
        argv = ["log", "--branches", f"^{self.start}", "--date-order", "--reverse", "--no-show-signature"]
        argv += ["--format=%H %ct %s", "--", *([path] if path else [])]
        listed = git_output(argv, git_dir=self.repository.path).decode("utf-8", "replace").splitlines()
        rows = [line.split(" ", 2) for line in listed]
        inside = [
            f"{row[0][:12]} {moment:%Y-%m-%d} {row[2][:160] if len(row) > 2 else ''}"
            for row in rows
            if begin <= (moment := datetime.fromtimestamp(int(row[1]), begin.tzinfo)) <= end
        ]
        shown = inside[asked.skip : asked.skip + MAX_COMMITS]
        left = len(inside) - asked.skip - len(shown)
        return "\n".join([*shown, *_more(left, f"commits; skip {asked.skip + MAX_COMMITS}")]) or "no commits"

    def _show(self, asked: Showing) -> str:
        sha = self.repository.resolve(asked.commit)
        if sha is None:
            raise _WrongCallError(f"there is no commit {asked.commit!r}")
        commit = self.repository.commit(sha)
        changes = self.repository.changes(sha)
        files = [f"{change.status} {change.path} +{change.insertions} -{change.deletions}" for change in changes]
        patch = commit_patch(self.repository, sha, [asked.path] if asked.path else None)
        parts = [f"commit {sha}", f"date {commit.committed_at:%Y-%m-%d}", cut(commit.message, 3000), ""]
        parts += [*files[:MAX_ENTRIES], *_more(len(files) - MAX_ENTRIES, "files")]
        return "\n".join([*parts, "", cut(patch, MAX_PATCH)])


@cache
def _spec(name: str, kind: type[Record]) -> ToolSpec:
    schema = json.dumps(kind.model_json_schema(), sort_keys=True)
    return ToolSpec(name=name, description=(kind.__doc__ or "").strip(), parameters=schema)


class _WrongCallError(ValueError):
    """What the model asked for cannot be; it is told."""


def file_lines(repository: Repository, commit: str, path: str) -> list[str] | None:
    """The lines of a text file; None where there is none, or it is too large or binary."""
    content = repository.read(commit, path)
    if content is None or len(content) > MAX_FILE or b"\0" in content:
        return None
    return content.decode("utf-8", "replace").splitlines()


def commit_patch(repository: Repository, sha: str, paths: list[str] | None = None) -> str:
    """What the commit changed against its first parent, as a patch."""
    argv = ["show", "--format=", "--first-parent", "-m", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"]
    return git_output([*argv, sha, "--", *(paths or [])], git_dir=repository.path).decode("utf-8", "replace")


def _folder(text: str) -> str:
    folder = text.strip("/").removeprefix("./")
    return f"{folder}/" if folder and folder != "." else ""


def _more(count: int, what: str) -> list[str]:
    return [f"[... {count} more {what} ...]"] if count > 0 else []
