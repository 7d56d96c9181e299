"""Commits that no branch or tag of the source holds (any more): asked for by id, then looked for below pull refs.

What is found is kept under `refs/envmill/kept/<commit>/<where it came from>`, out of reach of pruning. Branches and tags
alone are public history; nothing that is kept shows in questions about them.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from blocks.records import Record
from blocks.repositories.git import GitError, git_output, run_git
from blocks.repositories.salvage import copy_objects
from blocks.repositories.sources import Remote, without_credentials

KEPT = "refs/envmill/kept/"
BY_ID = "id"
LEFT = "left"
MAX_PULLS = 400
"""How many pull refs, the newest ones, are searched for a commit that is none of their tips."""
_PULLS = ("refs/pull/*/head", "refs/merge-requests/*/head", "refs/pull-requests/*/from")
_PULL = re.compile(r"^refs/((?:pull|merge-requests|pull-requests)/(\d{1,9})/(?:head|from))$")
_FULL_ID = re.compile(r"^[0-9a-f]{40}$")
_ID = re.compile(r"^[0-9a-f]{7,40}$")
_REFUSED = re.compile(r"not our ref|unadvertised object|couldn't find remote ref|no such remote ref")
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--update-shallow")


class Search(Record):
    """How a commit was looked for."""

    commit: str | None
    """Its full id, where the mirror has it now."""
    said: tuple[str, ...] = ()
    """What each way that did not lead there was answered with."""


def bring(remote: Remote, mirror: Path, revision: str) -> Search:
    """Bring a commit into the bare repository `mirror`, with its whole history, and keep it there.

    Args:
        remote: where to ask.
        mirror: the bare repository, as new as its source.
        revision: what names the commit: a full id, or for pull refs at least seven digits of it.

    Raises:
        RepositoryUnavailableError: the network or the source failed; worth a retry.
    """
    wanted = revision.strip().lower()
    if not _ID.match(wanted):
        return Search(commit=None)
    said: list[str] = []
    if _FULL_ID.match(wanted):
        fault = _by_id(remote, mirror, wanted)
        if fault is None:
            _note_pull(remote, mirror, wanted)
            return Search(commit=wanted)
        said.append(f"by its id: {fault}")
    found, told = _by_pull(remote, mirror, wanted)
    return Search(commit=found, said=() if found else (*said, f"by pull refs: {told}"))


def fetch_alone(remote: Remote, mirror: Path, commit: str) -> None:
    """Bring a commit's files without its history, where the source gives that; nothing happens where it does not."""
    remote.ask([*_FETCH, "--depth=1", "--", remote.source.address, f"{commit}:{KEPT}{commit}/{BY_ID}"], mirror)


def keep(mirror: Path, commit: str, origin: str) -> None:
    """Hold a commit that the mirror has against pruning."""
    git_output(["update-ref", f"{KEPT}{commit}/{origin}", commit], git_dir=mirror)


def is_given(remote: Remote, commit: str) -> bool:
    """Whether the source itself gives a commit that the mirror has from an earlier time.

    Raises:
        RepositoryUnavailableError: the network or the source failed; worth a retry.
    """
    with _scouting() as scout:
        ask = [*_FETCH, "--depth=1", "--filter=tree:0", "--", remote.source.address, commit]
        result = remote.ask(ask, scout)
    if result.code and remote.may_pass(result):
        raise remote.fault(result)
    return result.code == 0 or (remote.source.local and not _REFUSED.search(result.errors))


def is_commit(mirror: Path, commit: str) -> bool:
    """Whether the mirror has a commit of this full id."""
    return run_git(["cat-file", "-t", commit], git_dir=mirror).output.strip() == b"commit"


def _by_id(remote: Remote, mirror: Path, commit: str) -> str | None:
    """None where it came, else why not."""
    ref = f"{KEPT}{commit}/{BY_ID}"
    result = remote.ask([*_FETCH, "--", remote.source.address, f"{commit}:{ref}"], mirror)
    if result.code and remote.may_pass(result):
        raise remote.fault(result)
    if result.code and remote.source.local and not _REFUSED.search(result.errors):
        # A source whose object store is not whole serves nothing; its objects can still be copied.
        try:
            copy_objects(Path(remote.source.address), mirror, {ref: commit})
        except GitError as error:
            return str(error)[-200:]
    elif result.code:
        refused = _REFUSED.search(result.errors)
        return f"the source does not give it ({refused[0] if refused else without_credentials(result.errors[-160:])})"
    if is_commit(mirror, commit):
        return None
    git_output(["update-ref", "-d", ref], git_dir=mirror)
    return "the source has something else of this id, not a commit"


def _note_pull(remote: Remote, mirror: Path, commit: str) -> None:
    """Say so where a pull ref ends at a commit that came by its id: then it was meant for this project."""
    listed = remote.ask(["ls-remote", "--refs", "--", remote.source.address, *_PULLS])
    if listed.code == 0 and (named := [name for name, tip in _pulls(listed.output).items() if tip == commit]):
        keep(mirror, commit, named[0].removeprefix("refs/"))


def _by_pull(remote: Remote, mirror: Path, wanted: str) -> tuple[str | None, str]:
    listed = remote.ask(["ls-remote", "--refs", "--", remote.source.address, *_PULLS])
    if listed.code:
        if remote.may_pass(listed):
            raise remote.fault(listed)
        return None, without_credentials(listed.errors[-160:])
    pulls = _pulls(listed.output)
    tips = [name for name, tip in pulls.items() if tip.startswith(wanted)]
    commits = {pulls[name] for name in tips}
    if len(commits) > 1:
        return None, f"{wanted} begins the id of {len(commits)} of them"
    if tips:
        return _fetch_pull(remote, mirror, tips[0], commits.pop())
    if not _FULL_ID.match(wanted):
        return None, f"none of {len(pulls)} ends at it"
    known = _known(mirror, pulls.values())
    unknown = [name for name, tip in pulls.items() if tip not in known][:MAX_PULLS]
    holding = _scout(remote, mirror, unknown, wanted)
    if holding is None:
        return None, f"{len(pulls)} listed, {len(unknown)} searched, none holds it"
    return _fetch_pull(remote, mirror, holding, wanted)


def _pulls(listed: bytes) -> dict[str, str]:
    """Ref name to tip, the highest numbers first."""
    found: list[tuple[int, str, str]] = []
    for line in listed.decode("utf-8", "surrogateescape").splitlines():
        tip, _, name = line.partition("\t")
        match = _PULL.match(name)
        if match and _FULL_ID.match(tip):
            found.append((int(match[2]), name, tip))
    return {name: tip for _, name, tip in sorted(found, reverse=True)}


def _known(mirror: Path, tips: Iterable[str]) -> frozenset[str]:
    asked = "".join(f"{tip}\n" for tip in sorted(set(tips)))
    told = git_output(["cat-file", "--batch-check"], git_dir=mirror, stdin=asked.encode())
    return frozenset(line.split(b" ")[0].decode() for line in told.splitlines() if not line.endswith(b" missing"))


def _fetch_pull(remote: Remote, mirror: Path, name: str, commit: str) -> tuple[str | None, str]:
    result = remote.ask([*_FETCH, "--", remote.source.address, name], mirror)
    if result.code and remote.may_pass(result):
        raise remote.fault(result)
    if result.code or not is_commit(mirror, commit):
        return None, f"{name} moved on, or cannot be fetched ({without_credentials(result.errors[-160:])})"
    keep(mirror, commit, name.removeprefix("refs/"))
    return commit, name


def _scout(remote: Remote, mirror: Path, names: Sequence[str], commit: str) -> str | None:
    """Which of the pull refs reaches the commit. Asks for commits without their files, in a place of its own."""
    if not names:
        return None
    with _scouting() as scout:
        (scout / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (scout / "objects" / "info" / "alternates").write_text(f"{mirror / 'objects'}\n")
        specs = [f"{name}:{name}" for name in names]
        result = remote.ask([*_FETCH, "--filter=tree:0", "--", remote.source.address, *specs], scout)
        if result.code and remote.may_pass(result):
            raise remote.fault(result)
        if result.code or not is_commit(scout, commit):
            return None
        asked = ["for-each-ref", f"--contains={commit}", "--format=%(refname)", "refs/"]
        holding = git_output(asked, git_dir=scout).decode("utf-8", "surrogateescape").split()
        return next((name for name in names if name in holding), None)


@contextmanager
def _scouting() -> Iterator[Path]:
    """A bare repository for a look; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="envmill-scout-") as folder:
        made = run_git(["init", "--quiet", "--bare", "--template=", "--", folder])
        if made.code:
            raise GitError(f"{folder}: git init failed: {made.errors[-300:]}")
        yield Path(folder)
