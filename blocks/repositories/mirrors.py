"""A cache of bare mirrors, one per public identity. Branches and tags are taken whole; what lies under other refs (pull
requests of strangers) is not public history of the project, and comes only commit by commit (`unlisted.py`).
"""

import fcntl
import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from blocks.repositories import unlisted
from blocks.repositories.address import normalise
from blocks.repositories.git import GitError, ObjectsMissingError, git_output, run_git
from blocks.repositories.repository import Repository
from blocks.repositories.salvage import copy_objects
from blocks.repositories.sources import MirrorMap, Remote, RepositoryUnreachableError, Source

_REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_OWN_REFS = "refs/envmill/"
_MISSING = re.compile(
    r"unable to read|missing (blob|tree|object)|could not read|bad object|pack-objects died|not our ref"
)
_PIN_SEC = 300.0


class MirrorCache:
    """Keeps bare mirrors under `root`; several processes may share it."""

    def __init__(
        self, root: Path, mirrors: Mapping[str, str], *, timeout_sec: float = 900.0, max_pack_bytes: int = 4 << 30
    ) -> None:
        """Nothing is read or written yet.

        Args:
            root: folder of the mirrors; made when needed.
            mirrors: public address, or a prefix of addresses that ends in `/`, to URL, folder or bundle.
            timeout_sec: longest fetch.
            max_pack_bytes: most bytes of one fetch (where the system has prlimit).
        """
        self.root = root.absolute()
        self.timeout_sec = timeout_sec
        self.max_pack_bytes = max_pack_bytes
        self._map = MirrorMap(mirrors)

    def open(self, identity: str, *, commit: str | None = None) -> Repository:
        """The mirror of this repository, as new as its source is now.

        Args:
            identity: its address.
            commit: a revision that is needed; where no branch or tag holds it, it is looked for as `unlisted.bring` says.
                The repository's `search` tells how that went; it is no error where there is no such commit.

        Raises:
            UsageError: `identity` is no repository address.
            RepositoryUnreachableError: nothing can be read from there.
            RepositoryUnavailableError: the network or the source failed; worth a retry.
        """
        identity = normalise(identity)
        remote = self._remote(identity)
        name = self._name(identity, remote.source)
        path = self.root / name
        with self._locked(name):
            if path.is_dir():
                self._refresh(path, remote)
            else:
                self._create(path, remote)
            repository = Repository(identity, path, siblings=self)
            if commit is not None:
                repository.search = self._find(repository, remote, commit)
        return repository

    def pinned(self, identity: str, commit: str) -> Repository:
        """A repository that has this one commit, and its history only where the source gives nothing less.

        What was fetched once is read without asking the source again.

        Raises:
            ValueError: `commit` is not a full id.
            UsageError, RepositoryUnreachableError, RepositoryUnavailableError: as `open`; also where the source lacks it.
        """
        identity = normalise(identity)
        if not re.fullmatch(r"[0-9a-f]{40}", commit):
            raise ValueError(f"{commit[:80]!r} is not a full commit id")
        remote = self._remote(identity, timeout_sec=min(self.timeout_sec, _PIN_SEC))
        name = f"{self._name(identity, remote.source)}-pins"
        path = self.root / name
        with self._locked(name):
            if not path.is_dir():
                self._init(path)
            if not unlisted.is_commit(path, commit):
                unlisted.fetch_alone(remote, path, commit)
            if unlisted.is_commit(path, commit):
                return Repository(identity, path, siblings=self)
        whole = self.open(identity, commit=commit)
        if whole.resolve(commit) is None:
            told = "; ".join(whole.search.said) if whole.search else ""
            raise RepositoryUnreachableError(f"{identity}: its source has no commit {commit} ({told})")
        return whole

    def source(self, identity: str) -> Source:
        """Where `identity` is read from: its own entry of the mirror map, the longest prefix, else itself."""
        return self._map.source(identity)

    def _remote(self, identity: str, timeout_sec: float | None = None) -> Remote:
        return Remote(identity, self.source(identity), timeout_sec or self.timeout_sec, self.max_pack_bytes)

    @staticmethod
    def _name(identity: str, source: Source) -> str:
        return hashlib.sha256(f"{identity}\0{source.address}".encode()).hexdigest()[:24]

    @staticmethod
    def _find(repository: Repository, remote: Remote, revision: str) -> unlisted.Search:
        known = repository.resolve(revision)
        if known is None:
            return unlisted.bring(remote, repository.path, revision)
        if not repository.is_held(known):
            given = unlisted.is_given(remote, known)
            unlisted.keep(repository.path, known, unlisted.BY_ID if given else unlisted.LEFT)
        return unlisted.Search(commit=known)

    @staticmethod
    def _init(path: Path) -> None:
        result = run_git(["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--", str(path)])
        if result.code:
            raise GitError(f"{path}: git init failed: {result.errors}")

    def _create(self, path: Path, remote: Remote) -> None:
        started = path.with_suffix(".new")
        shutil.rmtree(started, ignore_errors=True)
        self._init(started)
        try:
            self._refresh(started, remote)
            started.rename(path)
        finally:
            shutil.rmtree(started, ignore_errors=True)

    def _refresh(self, path: Path, remote: Remote) -> None:
        wanted = self._remote_refs(remote)
        if not any(name.startswith("refs/heads/") for name in wanted):
            raise RepositoryUnreachableError(
                f"{remote.identity}: its source has no branch; check the address or the mirror map"
            )
        if wanted == _local_refs(path):
            return
        fetched = remote.ask(
            ["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
             "--update-shallow", "--", remote.source.address, *_REFSPECS],
            path,
        )  # fmt: skip
        if fetched.code == 0:
            return
        if remote.source.local and _MISSING.search(fetched.errors):
            copy_objects(Path(remote.source.address), path, wanted)
            return
        raise remote.fault(fetched)

    def _remote_refs(self, remote: Remote) -> dict[str, str]:
        source = remote.source
        if source.local and not Path(source.address).exists():
            raise RepositoryUnreachableError(
                f"{remote.identity}: its mirror {source.address} is not there; correct `mirrors`"
            )
        listed = remote.ask(["ls-remote", "--refs", "--heads", "--tags", "--", source.address])
        if listed.code:
            raise remote.fault(listed)
        pairs = (line.split("\t", 1) for line in listed.output.decode("utf-8", "surrogateescape").splitlines())
        return {name: sha for sha, name in pairs}

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / f"{name}.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _local_refs(path: Path) -> dict[str, str]:
    try:
        listed = git_output(["for-each-ref", "--format=%(objectname)%09%(refname)"], git_dir=path)
    except ObjectsMissingError:
        return {}
    pairs = (line.split("\t", 1) for line in listed.decode("utf-8", "surrogateescape").splitlines())
    return {name: sha for sha, name in pairs if not name.startswith(_OWN_REFS)}
