"""One recorded agent conversation, whatever tool wrote it. Shaped like ATIF, plus what archaeology and replay need.

All text in it is redacted: a `Session` is made from raw files in memory and redacted before it is stored.
"""

from datetime import datetime
from enum import StrEnum

from blocks.records import Record


class Speaker(StrEnum):
    """Who a step comes from (ATIF's `source`)."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


class Intervention(StrEnum):
    """How the user stepped in at a user step; `prompt` is the first message."""

    PROMPT = "prompt"
    FEEDBACK = "feedback"
    """Said after the agent claimed to be done, or to a tool approval."""
    ANSWER = "answer"
    REJECTION = "rejection"
    MESSAGE = "message"


class ToolCall(Record):
    """A tool the agent called. `arguments` is a JSON object as text."""

    call_id: str
    name: str
    arguments: str


class Observation(Record):
    """What a tool call gave back."""

    call_id: str | None
    content: str


class Step(Record):
    """One step of the conversation. `index` counts from 0 in the order of the session."""

    index: int
    speaker: Speaker
    text: str
    intervention: Intervention | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    observations: tuple[Observation, ...] = ()
    timestamp: datetime | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


class EditKind(StrEnum):
    """What an edit does to a file."""

    WRITE = "write"
    REPLACE = "replace"
    DELETE = "delete"


class Replacement(Record):
    """One SEARCH/REPLACE block: the first occurrence of `search` becomes `replace`."""

    search: str
    replace: str


class Edit(Record):
    """One edit the agent made to a workspace file, in the order of the session. Paths are relative, with `/`."""

    step: int
    kind: EditKind
    path: str
    content: str | None = None
    """The whole new file; for `write` only."""
    replacements: tuple[Replacement, ...] = ()
    accepted: bool = True
    """False where the user rejected it, or the tool reported that it did not apply."""


class SeenFile(Record):
    """A file's whole content as the session showed it, to be compared with the repository."""

    step: int
    path: str
    content: str
    after_edit: bool
    """True where the session had already edited this path before it was seen."""


class Command(Record):
    """A command the agent ran. `output` is what the session shows, often cut."""

    step: int
    command: str
    output: str
    exit_code: int | None = None


class CommitSighting(Record):
    """Where the session names the commit its workspace stood on."""

    step: int
    repository: str
    commit: str


class Session(Record):
    """A redacted session with everything later phases ask of it."""

    source: str
    """The tool that wrote it: `cline`, or `prompt` for a bare prompt."""
    session_id: str
    repository: str
    start_commit: str
    start_evidence: str
    """Where the start commit was read from, in words."""
    steps: tuple[Step, ...]
    edits: tuple[Edit, ...] = ()
    seen_files: tuple[SeenFile, ...] = ()
    commands: tuple[Command, ...] = ()
    sightings: tuple[CommitSighting, ...] = ()
    model: str | None = None
    started_at: datetime | None = None

    @property
    def prompt(self) -> str:
        """The user's first message."""
        return next((step.text for step in self.steps if step.intervention is Intervention.PROMPT), "")

    def edited_paths(self) -> frozenset[str]:
        """Paths the agent edited."""
        return frozenset(edit.path for edit in self.edits if edit.accepted)
