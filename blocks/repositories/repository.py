"""Questions to one mirrored repository. Every answer is data; nothing of the repository is run."""

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from blocks.repositories import snapshot
from blocks.repositories.diffs import parse_changes, parse_patch, shown
from blocks.repositories.git import EMPTY_TREE, GitError, ObjectsMissingError, git_output, run_git
from blocks.repositories.records import Commit, FileChange, LineEdits, TreeEntry
from blocks.repositories.unlisted import Search
from blocks.trees import File

MAX_TREE_BYTES = 1 << 30
_FULL_SHA = re.compile(r"^[0-9a-f]{40}$")
_SHORT_SHA = re.compile(r"^[0-9a-f]{4,39}$")
_REVISION = re.compile(r"^(?!.*(?:\.\.|@\{|//))[\w][\w./+@#-]{0,249}$")
_LOG = "--format=%H%x00%T%x00%P%x00%ae%x00%at%x00%ct%x00%B"
_LOG_FIELDS = 7
_DIFF = ("-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "--full-index", "--root")
_PATCH = ("--unified=0", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/",
          "--dst-prefix=b/", "--diff-algorithm=histogram")  # fmt: skip


class Siblings(Protocol):
    """Opens the repositories that this one refers to."""

    def pinned(self, identity: str, commit: str) -> "Repository":
        """A repository that has this one commit. Raises EnvmillError where it cannot be had."""


class Repository:
    """One bare mirror. Commits are named by their full id, as `resolve` gives it.

    Every method raises GitError where the repository cannot be read, ObjectsMissingError where the mirror lacks what
    the question needs, and ValueError for an id that is not 40 hex digits.
    """

    def __init__(self, identity: str, path: Path, siblings: Siblings | None = None) -> None:
        self.identity = identity
        self.path = path
        self.siblings = siblings
        self.search: Search | None = None
        """How the commit that it was opened for was looked for."""

    def resolve(self, revision: str) -> str | None:
        """The full id of the commit that a full or shortened id, branch or tag names; None for anything else.

        A shortened id names a commit before it names a branch of that spelling; an ambiguous one names nothing.
        """
        text = revision.strip()
        if not _REVISION.match(text):
            return None
        if _SHORT_SHA.match(text.lower()):
            listed = git_output(["rev-parse", f"--disambiguate={text.lower()}"], git_dir=self.path).decode().split()
            commits = {sha for name in listed if (sha := self._peel(name)) and sha == name}
            if commits:
                return commits.pop() if len(commits) == 1 else None
        return self._peel(text.lower() if _FULL_SHA.match(text.lower()) else text)

    def commit(self, sha: str) -> Commit:
        """One commit."""
        return self.commits((sha,))[0]

    def commits(self, shas: Sequence[str]) -> tuple[Commit, ...]:
        """Several commits, in the order asked for."""
        if not shas:
            return ()
        asked = "".join(f"{_full(sha)}\n" for sha in shas).encode()
        output = git_output(
            ["log", "--no-walk=unsorted", "--stdin", "-z", "--no-notes", "--no-mailmap", "--no-decorate", _LOG],
            git_dir=self.path,
            stdin=asked,
        )
        fields = output.split(b"\0")
        groups = [fields[start : start + _LOG_FIELDS] for start in range(0, len(fields) - 1, _LOG_FIELDS)]
        found = {commit.sha: commit for commit in map(_commit, groups)}
        return tuple(found[sha] for sha in shas)

    def branches_containing(self, sha: str) -> tuple[str, ...]:
        """Names of the branches from which the commit can be reached, sorted."""
        return self.refs_containing(sha, "refs/heads/")

    def refs_containing(self, sha: str, prefix: str) -> tuple[str, ...]:
        """Names, without the prefix, of the refs below it from which the commit can be reached, sorted."""
        listed = git_output(
            ["for-each-ref", f"--contains={_full(sha)}", "--format=%(refname)", prefix], git_dir=self.path
        )
        return tuple(sorted(name.removeprefix(prefix) for name in shown(listed).splitlines()))

    def is_held(self, sha: str) -> bool:
        """Whether any ref of the mirror reaches the commit."""
        return bool(self.refs_containing(sha, "refs/"))

    def commits_after(self, sha: str, *, window_days: int) -> tuple[Commit, ...]:
        """Commits of any branch that are no ancestors of `sha` and were committed within `window_days` after it (by
        committer date), oldest first.
        """
        begin = self.commit(sha).committed_at
        end = begin + timedelta(days=window_days)
        listed = git_output(
            [
                "log",
                "--branches",
                f"^{_full(sha)}",
                "--topo-order",
                "--reverse",
                "--no-show-signature",
                "--format=%H %ct",
            ],
            git_dir=self.path,
        )
        dated = ((name, _moment(seconds)) for name, seconds in (line.split(b" ") for line in listed.splitlines()))
        inside = [(name.decode(), moment) for name, moment in dated if begin <= moment <= end]
        inside.sort(key=lambda pair: pair[1])
        return self.commits([name for name, _ in inside])

    def history(self, revision: str, *, since: datetime, until: datetime) -> tuple[Commit, ...]:
        """Commits that the revision reaches and that were committed between the two moments, newest first."""
        head = self.resolve(revision)
        if head is None:
            return ()
        listed = git_output(["log", head, "--no-show-signature", "--format=%H %ct"], git_dir=self.path)
        dated = ((name, _moment(seconds)) for name, seconds in (line.split(b" ") for line in listed.splitlines()))
        inside = [(name.decode(), moment) for name, moment in dated if since <= moment <= until]
        inside.sort(key=lambda pair: pair[1], reverse=True)
        return self.commits([name for name, _ in inside])

    def commits_before(self, sha: str, *, limit: int) -> tuple[Commit, ...]:
        """The commit and its ancestors, newest first, at most `limit`."""
        asked = ["log", f"--max-count={limit:d}", "--no-show-signature", "--format=%H", _full(sha)]
        return self.commits(git_output(asked, git_dir=self.path).decode("ascii").split())

    def changes(self, sha: str) -> tuple[FileChange, ...]:
        """What the commit changed against its first parent (against nothing for a root)."""
        return self.changes_of((self.commit(sha),))[sha]

    def changes_of(self, commits: Sequence[Commit]) -> dict[str, tuple[FileChange, ...]]:
        """What each commit changed against its first parent, by id; one call of git for all of them."""
        if not commits:
            return {}
        asked = "".join(f"{commit.sha} {' '.join(commit.parents[:1])}".strip() + "\n" for commit in commits).encode()
        result = run_git(["diff-tree", "--stdin", *_DIFF], git_dir=self.path, stdin=asked)
        if result.code == 0:
            found = parse_changes(result.output)
            return {commit.sha: found.get(commit.sha, ()) for commit in commits}
        if len(commits) > 1:
            return {commit.sha: self.changes_of((commit,))[commit.sha] for commit in commits}
        return {commits[0].sha: self.changes_between(_base(commits[0]), commits[0].sha)}

    def changes_between(self, a: str, b: str) -> tuple[FileChange, ...]:
        """What differs between two commits (or trees)."""
        asked = ["diff-tree", *_DIFF, "--end-of-options", _full(a), _full(b)]
        result = run_git(asked, git_dir=self.path)
        if result.code == 0:
            return parse_changes(result.output).get("", ())
        # Counting lines needs contents; where the mirror lacks some, the list of paths can still be had.
        listed = git_output([part for part in asked if part != "--numstat"], git_dir=self.path)
        return self._count(a, b, parse_changes(listed).get("", ()))

    def edited_lines(self, sha: str) -> dict[str, LineEdits]:
        """The lines the commit removed and added against its first parent, by path; binary files are left out."""
        return self.edited_lines_between(_base(self.commit(sha)), sha)

    def edited_lines_between(self, a: str, b: str) -> dict[str, LineEdits]:
        """The lines that differ between two commits (or trees), by path; binary files are left out, and what the mirror
        lacks.
        """
        patch = ["diff-tree", "-r", "-p", *_PATCH, "--end-of-options", _full(a), _full(b)]
        try:
            return parse_patch(git_output(patch, git_dir=self.path))
        except ObjectsMissingError:
            whole = [change.path for change in self.changes_between(a, b) if not change.binary]
            return parse_patch(git_output([*patch, "--", *whole], git_dir=self.path)) if whole else {}

    def diff(self, a: str, b: str, paths: Sequence[str] | None = None) -> str:
        """The difference as a unified patch, for reading."""
        only = ["--", *paths] if paths is not None else ["--"]
        patch = ["diff-tree", "-r", "-p", *_PATCH, "--unified=3", "--end-of-options", _full(a), _full(b), *only]
        return shown(git_output(patch, git_dir=self.path))

    def tree_paths(self, sha: str) -> tuple[TreeEntry, ...]:
        """Every file, link and submodule of the commit (or tree), in Git's order."""
        listed = git_output(["ls-tree", "-r", "-z", "-l", "--full-tree", _full(sha)], git_dir=self.path)
        return tuple(_entry(item) for item in listed.split(b"\0") if item)

    def read(self, sha: str, path: str) -> bytes | None:
        """The content of one file (the target of a link); None where the commit has no file of this path."""
        listed = git_output(["ls-tree", "-z", "-l", "--full-tree", _full(sha), "--", path], git_dir=self.path)
        entries = [_entry(item) for item in listed.split(b"\0") if item]
        found = next((entry for entry in entries if entry.path == path and b" blob " in listed), None)
        if found is None:
            return None
        if found.size is None:
            raise ObjectsMissingError(f"{self.identity} at {sha}: the mirror lacks the content of {path!r}")
        return snapshot.read_blobs(self.path, (found.blob,), MAX_TREE_BYTES)[found.blob]

    def snapshot(self, sha: str, *, max_bytes: int = MAX_TREE_BYTES) -> snapshot.Snapshot:
        """The commit's files, each checked against its id, with what is not there (submodules, LFS contents).

        Raises:
            TreeUnsafeError: a name, link or mode that may not be carried, or more than `max_bytes`.
            ObjectsMissingError: contents that the mirror lacks; names the paths.
        """
        return snapshot.take(self.path, self.tree_paths(sha), f"{self.identity} at {sha}", max_bytes)

    def export(self, sha: str) -> dict[str, File]:
        """The tree of `snapshot`."""
        return self.snapshot(sha).tree

    def nearest_tag(self, sha: str) -> str | None:
        """The tag that `git describe` starts from: the nearest one that is an ancestor; None where there is none."""
        result = run_git(["describe", "--tags", "--abbrev=0", _full(sha)], git_dir=self.path)
        return shown(result.output).strip() if result.code == 0 else None

    def _peel(self, name: str) -> str | None:
        asked = ["rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}"]
        result = run_git(asked, git_dir=self.path)
        found = result.output.decode("ascii", "replace").split()
        return found[-1] if result.code == 0 and found and _FULL_SHA.match(found[-1]) else None

    def _count(self, a: str, b: str, listed: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
        asked = "".join(
            f"{blob}\n" for change in listed for blob in (change.old_blob, change.new_blob) if int(blob, 16)
        )
        told = git_output(["cat-file", "--batch-check"], git_dir=self.path, stdin=asked.encode())
        missing = {line.split(b" ")[0].decode() for line in told.splitlines() if line.endswith(b" missing")}
        whole = [change for change in listed if not {change.old_blob, change.new_blob} & missing]
        if not whole:
            return listed
        paths = [change.path for change in whole]
        output = git_output(["diff-tree", *_DIFF, "--end-of-options", a, b, "--", *paths], git_dir=self.path)
        counted = {change.path: change for change in parse_changes(output).get("", ())}
        return tuple(counted.get(change.path, change) for change in listed)


def _full(sha: str) -> str:
    if not _FULL_SHA.match(sha):
        raise ValueError(f"{sha[:80]!r} is not a full commit id")
    return sha


def _base(commit: Commit) -> str:
    return commit.parents[0] if commit.parents else EMPTY_TREE


def _moment(seconds: bytes) -> datetime:
    """Dates that no calendar holds become its ends: a hostile commit must not stop the reading of its neighbours."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC) if not seconds.startswith(b"-") else datetime.min.replace(tzinfo=UTC)


def _commit(fields: list[bytes]) -> Commit:
    if len(fields) != _LOG_FIELDS:
        raise GitError("git log: an entry cannot be read")
    sha, tree, parents, email, authored, committed, message = fields
    subject, _, body = message.decode("utf-8", "replace").strip().partition("\n")
    return Commit(
        sha=sha.decode("ascii"),
        tree=tree.decode("ascii"),
        parents=tuple(parents.decode("ascii").split()),
        author_hash=hashlib.sha256(email).hexdigest()[:16],
        authored_at=_moment(authored),
        committed_at=_moment(committed),
        subject=subject.strip(),
        body=body.strip(),
    )


def _entry(item: bytes) -> TreeEntry:
    head, _, name = item.partition(b"\t")
    mode, _, blob, size = head.split()
    path = shown(name)
    return TreeEntry(
        path=path,
        mode=mode.decode("ascii"),
        blob=blob.decode("ascii"),
        size=int(size) if size.isdigit() else None,
        readable_name=path.encode("utf-8", "replace") == name,
    )
