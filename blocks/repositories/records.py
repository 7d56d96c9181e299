"""What a repository answers with. Paths are relative, with `/`; bytes that are no UTF-8 are shown as a hex escape."""

from datetime import datetime
from enum import StrEnum

from blocks.records import Record

SUBMODULE_MODE = "160000"
LINK_MODE = "120000"
EXECUTABLE_MODE = "100755"


class Commit(Record):
    """A commit, without the names of people: `author_hash` is 16 hex digits of the sha256 of the author's address."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author_hash: str
    authored_at: datetime
    committed_at: datetime
    subject: str
    body: str

    @property
    def message(self) -> str:
        """Subject and body."""
        return f"{self.subject}\n\n{self.body}".strip()


class ChangeStatus(StrEnum):
    """What happened to a path; renames are a deletion and an addition."""

    ADDED = "A"
    DELETED = "D"
    MODIFIED = "M"
    RETYPED = "T"


class FileChange(Record):
    """One path that differs between two states. Modes are six octal digits, `000000` where the path is absent."""

    path: str
    status: ChangeStatus
    insertions: int
    deletions: int
    binary: bool
    """True also where a side's content is missing from the mirror: then nothing was counted."""
    old_mode: str
    new_mode: str
    old_blob: str
    new_blob: str


class Hunk(Record):
    """One place where two texts differ, without context. Line numbers count from 1; 0 lines stand after `start`."""

    old_start: int
    new_start: int
    heading: str
    """The line above that git thinks the hunk belongs to (a function or class), or nothing."""
    removed: tuple[str, ...]
    added: tuple[str, ...]


class LineEdits(Record):
    """The hunks of one path."""

    path: str
    hunks: tuple[Hunk, ...]

    @property
    def removed(self) -> frozenset[str]:
        """Texts of the removed lines, stripped, without empty ones."""
        return frozenset(line.strip() for hunk in self.hunks for line in hunk.removed if line.strip())

    @property
    def added(self) -> frozenset[str]:
        """Texts of the added lines, stripped, without empty ones."""
        return frozenset(line.strip() for hunk in self.hunks for line in hunk.added if line.strip())


class TreeEntry(Record):
    """One file, link or submodule of a tree."""

    path: str
    mode: str
    blob: str
    """Object id; for a submodule the commit it points to."""
    size: int | None
    """Bytes; None for a submodule and where the content is missing from the mirror."""
    readable_name: bool
    """False where the name is not UTF-8, so that `path` only shows it."""


class Way(StrEnum):
    """How a commit can be had."""

    BRANCH = "branch"
    TAG = "tag"
    PULL = "pull"
    """No branch or tag of the source holds it; a pull or merge request does."""
    ID = "id"
    """The source gives it when asked for its id: a branch of it is gone or was rewritten, or it is of a fork."""
    LEFT = "left"
    """Only the mirror still has it, from an earlier time: its source no longer gives it."""
    NONE = "none"
    """Not at all."""


class Reach(Record):
    """How a commit can be had, and from where: names of branches, of tags, or of pull refs (`pull/7/head`), sorted."""

    way: Way
    names: tuple[str, ...] = ()

    @property
    def is_public_history(self) -> bool:
        """Whether the project itself holds the commit in a branch or tag."""
        return self.way in (Way.BRANCH, Way.TAG)


class Submodule(Record):
    """One submodule of a checkout."""

    path: str
    commit: str
    """The pin: the commit that the tree names."""
    repository: str | None
    """Public identity; None where `.gitmodules` names none."""
    files: int = 0
    fault: str | None = None
    """Why it could not be had; its folder is then empty."""
