"""A cache of bare mirrors, one per public identity. Only branches and tags are taken: what lies under other refs (pull
requests of strangers) is not public history of the project.
"""

import fcntl
import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from blocks.errors import PermanentError, TransientError
from blocks.records import Record
from blocks.repositories.address import normalise
from blocks.repositories.git import GitError, GitResult, ObjectsMissingError, git_output, run_git
from blocks.repositories.repository import Repository
from blocks.repositories.salvage import copy_objects

_REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://")
_PASSING = re.compile(
    r"could not resolve host|(failed|couldn't|could not) (to )?connect|connection (refused|reset|closed)|timed out"
    r"|early eof|rpc failed|temporary failure|returned error: (429|5\d\d)|unexpected disconnect|remote end hung up"
    r"|network is unreachable|gnutls|ssl_",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"unable to read|missing (blob|tree|object)|could not read|bad object|pack-objects died|not our ref"
)


class RepositoryUnreachableError(PermanentError):
    """There is no such repository for us: unknown address, no access without credentials, no Git data."""


class RepositoryUnavailableError(TransientError):
    """The repository could not be reached this time."""


class Source(Record):
    """Where a repository is read from: a URL, or a local folder or bundle."""

    address: str
    local: bool
    protocols: str
    """What git may speak (GIT_ALLOW_PROTOCOL): an address from a contribution gets https only, one that the operator
    wrote into the mirror map what mirrors use."""


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
        self._exact = {normalise(key): value for key, value in mirrors.items() if not key.endswith("/")}
        self._prefixes = {key: value for key, value in mirrors.items() if key.endswith("/")}

    def open(self, identity: str) -> Repository:
        """The mirror of this repository, as new as its source is now.

        Raises:
            UsageError: `identity` is no repository address.
            RepositoryUnreachableError: nothing can be read from there.
            RepositoryUnavailableError: the network or the source failed; worth a retry.
        """
        identity = normalise(identity)
        source = self.source(identity)
        name = hashlib.sha256(f"{identity}\0{source.address}".encode()).hexdigest()[:24]
        path = self.root / name
        with self._locked(name):
            if path.is_dir():
                self._refresh(path, source, identity)
            else:
                self._create(path, source, identity)
        return Repository(identity, path)

    def source(self, identity: str) -> Source:
        """Where `identity` is read from: its own entry of the mirror map, the longest prefix, else itself."""
        found = self._exact.get(identity)
        if found is None:
            prefix = max((key for key in self._prefixes if identity.startswith(key)), key=len, default=None)
            if prefix is None:
                return Source(address=identity, local=False, protocols="https")
            found = self._prefixes[prefix].rstrip("/") + "/" + identity.removeprefix(prefix)
        if _URL.match(found) and not found.startswith("file://"):
            return Source(address=found, local=False, protocols="https:http:ssh:git")
        folder = Path(found.removeprefix("file://")).expanduser().absolute()
        if not folder.exists():
            folder = next((alt for end in (".git", ".bundle") if (alt := Path(f"{folder}{end}")).exists()), folder)
        return Source(address=str(folder), local=True, protocols="file")

    def _create(self, path: Path, source: Source, identity: str) -> None:
        started = path.with_suffix(".new")
        shutil.rmtree(started, ignore_errors=True)
        result = run_git(["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--", str(started)])
        if result.code:
            raise GitError(f"{started}: git init failed: {result.errors}")
        try:
            self._refresh(started, source, identity)
            started.rename(path)
        finally:
            shutil.rmtree(started, ignore_errors=True)

    def _refresh(self, path: Path, source: Source, identity: str) -> None:
        wanted = self._remote_refs(source, identity)
        if not any(name.startswith("refs/heads/") for name in wanted):
            raise RepositoryUnreachableError(
                f"{identity}: its source has no branch; check the address or the mirror map"
            )
        if wanted == _local_refs(path):
            return
        fetched = self._ask(
            ["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
             "--update-shallow", "--", source.address, *_REFSPECS],
            source, git_dir=path,
        )  # fmt: skip
        if fetched.code == 0:
            return
        if source.local and _MISSING.search(fetched.errors):
            copy_objects(Path(source.address), path, wanted)
            return
        raise self._fault(fetched, source, identity)

    def _remote_refs(self, source: Source, identity: str) -> dict[str, str]:
        if source.local and not Path(source.address).exists():
            raise RepositoryUnreachableError(f"{identity}: its mirror {source.address} is not there; correct `mirrors`")
        listed = self._ask(["ls-remote", "--refs", "--heads", "--tags", "--", source.address], source)
        if listed.code:
            raise self._fault(listed, source, identity)
        pairs = (line.split("\t", 1) for line in listed.output.decode("utf-8", "surrogateescape").splitlines())
        return {name: sha for sha, name in pairs}

    def _ask(self, arguments: list[str], source: Source, git_dir: Path | None = None) -> GitResult:
        if source.address.startswith("-"):
            raise RepositoryUnreachableError(f"mirror {source.address!r}: not a URL, folder or bundle")
        return run_git(
            arguments,
            git_dir=git_dir,
            protocols=source.protocols,
            timeout_sec=self.timeout_sec,
            max_file_bytes=self.max_pack_bytes,
        )

    def _fault(self, result: GitResult, source: Source, identity: str) -> PermanentError | TransientError:
        told = re.sub(r"//[^/@\s]*@", "//", result.errors[-300:])
        if not source.local and _PASSING.search(result.errors):
            return RepositoryUnavailableError(f"{identity}: could not be fetched this time ({told}); run again")
        return RepositoryUnreachableError(
            f"{identity}: cannot be read without credentials ({told}); check the address or give a mirror in `mirrors`"
        )

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
    return {name: sha for sha, name in pairs}
