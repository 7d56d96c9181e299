"""How a commit stands to a repository's public history: what holds it, where it left that history, what else was there."""

from collections.abc import Sequence
from datetime import datetime

from blocks.repositories.diffs import shown
from blocks.repositories.git import git_output
from blocks.repositories.records import Reach, Way
from blocks.repositories.repository import Repository
from blocks.repositories.unlisted import BY_ID, KEPT
from blocks.trees import TreeUnsafeError, safe_path

_MAINLINES = ("main", "master", "trunk", "develop")


def reach_of(repository: Repository, commit: str) -> Reach:
    """How the repository's mirror came to a commit that it has; `Way.NONE` for one that it has not."""
    if repository.resolve(commit) is None:
        return Reach(way=Way.NONE)
    if branches := repository.branches_containing(commit):
        return Reach(way=Way.BRANCH, names=branches)
    if tags := repository.refs_containing(commit, "refs/tags/"):
        return Reach(way=Way.TAG, names=tags)
    origins = {name.partition("/")[2] for name in repository.refs_containing(commit, KEPT)}
    if pulls := sorted(origin for origin in origins if "/" in origin):
        return Reach(way=Way.PULL, names=tuple(pulls))
    return Reach(way=Way.ID if BY_ID in origins else Way.LEFT)


def public_ancestor(repository: Repository, commit: str) -> str | None:
    """The newest ancestor of a commit (or itself) that a branch or tag holds; None where they share no history."""
    asked = ["rev-list", "--boundary", commit, "--not", "--branches", "--tags"]
    listed = git_output(asked, git_dir=repository.path).decode("ascii").split()
    edges = [line[1:] for line in listed if line.startswith("-")]
    if not listed:
        return commit
    found = sorted(repository.commits(edges), key=lambda one: (one.committed_at, one.sha))
    return found[-1].sha if found else None


def public_commits(repository: Repository, *, until: datetime, limit: int) -> tuple[str, ...]:
    """Ids of commits of any branch that were committed until then, newest first, at most `limit`."""
    moment = f"--until=@{int(until.timestamp())}"
    asked = ["rev-list", "--branches", f"--max-count={limit:d}", moment]
    return tuple(git_output(asked, git_dir=repository.path).decode("ascii").split())


def mainline(repository: Repository) -> frozenset[str]:
    """Ids of the commits of the branch that by its name is the main one; empty where no name says so."""
    for name in _MAINLINES:
        if (head := repository.resolve(f"refs/heads/{name}")) is not None:
            asked = ["rev-list", "--first-parent", head]
            return frozenset(git_output(asked, git_dir=repository.path).decode("ascii").split())
    return frozenset()


def blobs_at(repository: Repository, commits: Sequence[str], paths: Sequence[str]) -> dict[str, tuple[str | None, ...]]:
    """For each commit the blob ids of these paths, in their order; None where it has no file there.

    A path that no tree may hold counts as no file; a link counts as one that holds its target.
    """
    if not commits or not paths:
        return {commit: (None,) * len(paths) for commit in commits}
    askable = [path if _is_askable(path) else None for path in paths]
    asked = "".join(f"{commit}:{path}\n" for commit in commits for path in askable if path is not None)
    told = git_output(
        ["cat-file", "--batch-check=%(objecttype) %(objectname)"], git_dir=repository.path, stdin=asked.encode()
    )
    answers = iter(told.split(b"\n"))

    def blob(path: str | None) -> str | None:
        if path is None:
            return None
        kind, _, name = next(answers).partition(b" ")
        return name.decode() if kind == b"blob" and len(name) == 40 else None

    return {commit: tuple(blob(path) for path in askable) for commit in commits}


def blob_sizes(repository: Repository, blobs: Sequence[str]) -> dict[str, int]:
    """Bytes of each of the blobs that the mirror has."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    told = git_output(["cat-file", "--batch-check"], git_dir=repository.path, stdin=asked) if blobs else b""
    fields = (line.split(b" ") for line in told.splitlines())
    return {part[0].decode(): int(part[2]) for part in fields if len(part) == 3}


def _is_askable(path: str) -> bool:
    try:
        return "\n" not in safe_path(path) and shown(path.encode("utf-8", "surrogateescape")) == path
    except TreeUnsafeError:
        return False
