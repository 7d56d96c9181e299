"""Where a repository is read from: its own public address, or what the operator's mirror map says instead."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from blocks.errors import PermanentError, TransientError
from blocks.records import Record
from blocks.repositories.address import normalise
from blocks.repositories.git import GitResult, run_git

_URL = re.compile(r"^[a-z][a-z0-9+.-]*://")
_PASSING = re.compile(
    r"could not resolve host|(failed|couldn't|could not) (to )?connect|connection (refused|reset|closed)|timed out"
    r"|early eof|rpc failed|temporary failure|returned error: (429|5\d\d)|unexpected disconnect|remote end hung up"
    r"|network is unreachable|gnutls|ssl_",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(r"//[^/@\s]*@")


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


class MirrorMap:
    """The setting `mirrors`: public address, or a prefix of addresses that ends in `/`, to URL, folder or bundle."""

    def __init__(self, mirrors: Mapping[str, str]) -> None:
        self._exact = {normalise(key): value for key, value in mirrors.items() if not key.endswith("/")}
        self._prefixes = {key: value for key, value in mirrors.items() if key.endswith("/")}

    def entry(self, identity: str) -> str | None:
        """What the map says of `identity`: its own entry, else the longest prefix; None where it says nothing."""
        found = self._exact.get(identity)
        if found is not None:
            return found
        prefix = max((key for key in self._prefixes if identity.startswith(key)), key=len, default=None)
        return None if prefix is None else self._prefixes[prefix].rstrip("/") + "/" + identity.removeprefix(prefix)

    def source(self, identity: str) -> Source:
        """Where `identity` is read from."""
        found = self.entry(identity)
        if found is None:
            return Source(address=identity, local=False, protocols="https")
        if _URL.match(found) and not found.startswith("file://"):
            return Source(address=found, local=False, protocols="https:http:ssh:git")
        folder = Path(found.removeprefix("file://")).expanduser().absolute()
        if not folder.exists():
            folder = next((alt for end in (".git", ".bundle") if (alt := Path(f"{folder}{end}")).exists()), folder)
        return Source(address=str(folder), local=True, protocols="file")

    def digest(self, identity: str) -> str | None:
        """16 hex digits that change when `identity` is read from elsewhere; None where the map says nothing of it.

        Credentials in an address do not count and are not hashed.
        """
        found = self.entry(identity)
        return None if found is None else hashlib.sha256(without_credentials(found).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Remote:
    """A source with the bounds that every question to it has."""

    identity: str
    source: Source
    timeout_sec: float
    max_pack_bytes: int

    def ask(self, arguments: Sequence[str], git_dir: Path | None = None) -> GitResult:
        """Run a git command that speaks to the source, whatever its exit code.

        Raises:
            RepositoryUnreachableError: the address is an option of git.
        """
        if self.source.address.startswith("-"):
            raise RepositoryUnreachableError(f"mirror {self.source.address!r}: not a URL, folder or bundle")
        return run_git(
            arguments,
            git_dir=git_dir,
            protocols=self.source.protocols,
            timeout_sec=self.timeout_sec,
            max_file_bytes=self.max_pack_bytes,
        )

    def may_pass(self, result: GitResult) -> bool:
        """Whether a failure is one of the network or of a busy server: worth another try."""
        return not self.source.local and bool(_PASSING.search(result.errors))

    def fault(self, result: GitResult) -> PermanentError | TransientError:
        """What a failed question means for who asked."""
        told = without_credentials(result.errors[-300:])
        if self.may_pass(result):
            return RepositoryUnavailableError(f"{self.identity}: could not be fetched this time ({told}); run again")
        return RepositoryUnreachableError(
            f"{self.identity}: cannot be read without credentials ({told}); check the address or give a mirror in `mirrors`"
        )


def without_credentials(text: str) -> str:
    """The text with what stands before the `@` of an address taken out."""
    return _CREDENTIALS.sub("//", text)
