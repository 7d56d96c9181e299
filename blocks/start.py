"""The start state of a candidate: its commit, what of it had to be recovered from the session, and what is not there.

Qualify decides it, archaeology builds it; both write it as `start.json`.
"""

import hashlib
from collections.abc import Mapping

from blocks.errors import PermanentError
from blocks.records import Record
from blocks.repositories.records import Reach, Submodule, Way
from blocks.session import Session
from blocks.trees import File, Tree

START = "start.json"


class Recovered(Record):
    """A file that the session shows whole, before anything could have changed it, and that the commit has otherwise."""

    path: str
    sha256: str
    """Of the content as it goes into the tree."""
    step: int
    """Step of the session that shows it."""


class Start(Record):
    """Where a candidate starts."""

    commit: str
    """As the contribution names it."""
    base_commit: str
    """Full id of the commit whose files the start has: `commit`, or the public commit nearest to what was seen, where
    `commit` cannot be had."""
    reach: Reach
    """How `commit` can be had; `none` where `base_commit` stands in for it."""
    recovered: tuple[Recovered, ...] = ()
    """Sorted by path."""
    commit_fidelity: float | None = None
    """Share of the contents seen in the session that `base_commit` has as they were seen, 0..1; None: nothing seen."""
    start_fidelity: float | None = None
    """The same share, of `base_commit` with the recovered files."""
    submodules: tuple[Submodule, ...] = ()
    lfs_pointers: tuple[str, ...] = ()
    """Files whose content Git LFS keeps elsewhere; the tree has the pointers."""

    @property
    def is_exact(self) -> bool:
        """Whether the named commit itself could be had."""
        return self.reach.way is not Way.NONE


def as_file(seen: str, before: File | None) -> File:
    """A file of the seen text, with the line ends, the last line end and the mode that it had before."""
    text = "\n".join(seen.splitlines())
    old = before.content if before else b"\n"
    if text and (old.endswith(b"\n") or not old):
        text += "\n"
    if old.count(b"\r\n") * 2 > old.count(b"\n"):
        text = text.replace("\n", "\r\n")
    return File(content=text.encode("utf-8", "surrogatepass"), executable=bool(before and before.executable))


def recovered_files(start: Start, session: Session, base: Tree) -> dict[str, File]:
    """The files to write over the base commit's tree.

    Raises:
        PermanentError: the session no longer shows what was decided on; a fault of envmill.
    """
    shown: Mapping[tuple[str, int], str] = {
        (seen.path, seen.step): seen.content for seen in reversed(session.seen_files)
    }
    files: dict[str, File] = {}
    for one in start.recovered:
        content = shown.get((one.path, one.step))
        file = None if content is None else as_file(content, base.get(one.path))
        if file is None or hashlib.sha256(file.content).hexdigest() != one.sha256:
            raise PermanentError(
                f"{one.path[:200]!r}: the session does not show at step {one.step} what qualify saw there; this is a fault "
                "of envmill, please report it"
            )
        files[one.path] = file
    return files
