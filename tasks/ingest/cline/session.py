"""From a task folder to a `Session`: still unredacted, in memory only."""

from collections.abc import Sequence

from blocks.records import ReasonCode, Record
from blocks.session import Session
from tasks.ingest.cline.environment import Environment, parse_environment
from tasks.ingest.cline.folder import TaskFolder, read_history, read_timeline
from tasks.ingest.cline.messages import Message, Text
from tasks.ingest.cline.trail import Trail
from tasks.ingest.result import RefusedError

SOURCE = "cline"


class Identity(Record):
    """What must be known of a session before its consent can be checked, and what redaction needs to know of its place."""

    repository: str
    start_commit: str
    roots: tuple[str, ...]
    """Absolute paths of the workspace on the contributor's machine."""


def identify(task: TaskFolder) -> Identity:
    """Repository and start commit, from the environment blocks of the first user row.

    Raises:
        RefusedError: file_unreadable, repository_unknown, start_commit_unknown.
    """
    return _identity(task, read_history(task))


def read_session(task: TaskFolder) -> Session:
    """The whole session.

    Raises:
        RefusedError: as `identify`; prompt_empty where the user's first message is empty.
    """
    history = read_history(task)
    identity = _identity(task, history)
    trail = Trail(identity.roots, read_timeline(task))
    for row, message in enumerate(history):
        if message.from_user:
            trail.user_row(row, message)
        else:
            trail.agent_row(row, message)
    trail.close()
    session = Session(
        source=SOURCE,
        session_id=task.session_id,
        repository=identity.repository,
        start_commit=identity.start_commit,
        start_evidence="latestGitCommitHash of the workspace configuration sent with the first message",
        steps=tuple(trail.steps),
        edits=tuple(trail.edits),
        seen_files=tuple(trail.seen_files),
        commands=tuple(trail.commands),
        sightings=tuple(sighting for sighting in trail.sightings if sighting.repository == identity.repository),
        model=next((step.model for step in trail.steps if step.model), None),
        started_at=trail.timeline.started_at or next((message.timestamp for message in history), None),
    )
    if not session.prompt.strip():
        raise RefusedError(
            ReasonCode.PROMPT_EMPTY, f"{task.name}: the user's first message is empty or missing; nothing can be asked"
        )
    return session


def _identity(task: TaskFolder, history: Sequence[Message]) -> Identity:
    environments = _environments(history[0]) if history and history[0].from_user else []
    spaces = [space for space in (environment.main() for environment in environments) if space]
    known = next((space for space in reversed(spaces) if space.repository), None)
    if known is None or known.repository is None:
        raise RefusedError(
            ReasonCode.REPOSITORY_UNKNOWN,
            f"{task.name}: the first message names no remote of a public repository (Cline 3.32.6+ records it); "
            "hand the prompt in with its repository and commit instead",
        )
    if known.commit is None:
        raise RefusedError(
            ReasonCode.START_COMMIT_UNKNOWN,
            f"{task.name}: the first message names no commit (Cline 3.32.6+ records it); "
            "hand the prompt in with its repository and commit instead",
        )
    roots = [path for environment in environments for path in _roots(environment)]
    return Identity(repository=known.repository, start_commit=known.commit, roots=tuple(dict.fromkeys(roots)))


def _environments(message: Message) -> list[Environment]:
    return [parse_environment(block.text) for block in message.blocks if isinstance(block, Text)]


def _roots(environment: Environment) -> list[str]:
    main = environment.main()
    return [path for path in (main.root if main else None, environment.directory) if path]
