"""A labelled candidate: how it is made, the right answer of each qualifier, and why it is right.

The answers were written by hand before anything was run. `-` is where a qualifier has nothing to judge, so that no answer is
the right one. A case that names an outcome counts for the top-1 rate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blocks.records import Qualifier
from blocks.repositories import MirrorCache, Repository
from blocks.session import (
    Command,
    Edit,
    EditKind,
    Intervention,
    Observation,
    Replacement,
    SeenFile,
    Session,
    Speaker,
    Step,
)
from blocks.settings import QualifySettings
from tasks.qualify.github import Asked, PullFacts, RepositoryFacts
from tasks.qualify.surroundings import ALONE, Neighbour, Surroundings
from tests.history import MIT, History
from tests.tasks.qualify.kettle import Kettle

SETTINGS = QualifySettings()
NAMES = ("origin", "journey", "outcome", "disqualifier")


@dataclass(frozen=True)
class Scene:
    """Everything the qualifiers get."""

    session: Session
    repository: Repository
    around: Surroundings = ALONE
    settings: QualifySettings = SETTINGS
    outcome: Sequence[str] = ()
    """The right commits; any of them at rank 1 is right."""


Make = Callable[[Kettle], Scene]


@dataclass(frozen=True)
class Labelled:
    """One candidate of the set."""

    name: str
    make: Make
    right: dict[Qualifier, str]
    """`pass`, `fail:<code>`, `unsure:<code>`, or `-`."""
    why: str


CASES: list[Labelled] = []


def case(why: str, **right: str) -> Callable[[Make], Make]:
    """Adds a case; qualifiers that are not named have to pass."""

    def add(make: Make) -> Make:
        answers = {Qualifier(name): right.get(name, "pass") for name in NAMES}
        CASES.append(Labelled(make.__name__, make, answers, why))
        return make

    return add


@dataclass(frozen=True)
class Hosted:
    """A hosting service that answers from memory."""

    facts: RepositoryFacts | None = None
    pulls: tuple[tuple[str, PullFacts], ...] = ()

    def repository(self) -> Asked:
        """The facts."""
        return Asked(facts=self.facts, said="asked")

    def pulls_of(self, commit: str) -> tuple[PullFacts, ...]:
        """Those that were given for the commit."""
        return tuple(pull for sha, pull in self.pulls if sha == commit)


def facts(**changed: object) -> RepositoryFacts:
    """A public repository of its own, changed where the case wants it."""
    plain = RepositoryFacts(
        full_name="tea/kettle", private=False, visibility="public", fork=False, parent=None, archived=False,
        default_branch="main", licence="MIT",
    )  # fmt: skip
    return plain.model_copy(update=changed)


def hosted(**changed: object) -> Surroundings:
    """Around: a service that knows the repository."""
    return replace(ALONE, hosting=Hosted(facts(**changed)))


def neighbours(*sessions: Session) -> Surroundings:
    """Around: earlier candidates."""
    found = tuple(Neighbour(candidate_id=f"c-{number}", session=one) for number, one in enumerate(sessions))
    return replace(ALONE, neighbours=lambda: found)


def turns(start: str, *texts: str, identity: str, edits: Sequence[Edit] = (), shown: Sequence[str] = ()) -> Session:
    """A session in which the user says these things in turn, and an agent answers."""
    steps: list[Step] = []
    for number, text in enumerate(texts):
        kind = Intervention.FEEDBACK if number else Intervention.PROMPT
        steps.append(Step(index=2 * number, speaker=Speaker.USER, text=text, intervention=kind))
        seen = tuple(Observation(call_id=None, content=content) for content in shown) if number == 0 else ()
        steps.append(Step(index=2 * number + 1, speaker=Speaker.AGENT, text="I changed it.", observations=seen))
    return Session(
        source="cline",
        session_id=f"s-{abs(hash(texts)) % 1000}",
        repository=identity,
        start_commit=start,
        start_evidence="environment details",
        steps=tuple(steps),
        edits=tuple(edits),
    )


def swap(path: str, search: str, replacement: str, step: int = 1) -> Edit:
    """An edit of one place."""
    blocks = (Replacement(search=search, replace=replacement),)
    return Edit(step=step, kind=EditKind.REPLACE, path=path, replacements=blocks)


def saw(session: Session, *files: tuple[str, str]) -> Session:
    """The session, having seen these files whole."""
    seen = tuple(SeenFile(step=1, path=path, content=content, after_edit=False) for path, content in files)
    return session.model_copy(update={"seen_files": (*session.seen_files, *seen)})


def ran(session: Session, *commands: tuple[str, str]) -> Session:
    """The session, having run these commands with these outputs."""
    found = tuple(Command(step=1, command=command, output=output) for command, output in commands)
    return session.model_copy(update={"commands": (*session.commands, *found)})


class Project:
    """Another repository than the kettle's, in the same folder."""

    def __init__(self, near: Kettle, identity: str) -> None:
        folder = near.history.folder.parent / identity.rpartition("/")[2]
        self.identity = identity
        self.history = History(folder)
        self.cache = MirrorCache(near.history.folder.parent / "cache", {identity: str(folder)})

    def open(self) -> Repository:
        """Its mirror, as new as it is now."""
        return self.cache.open(self.identity)


def licensed(files: dict[str, str]) -> dict[str, str]:
    """The files, with a licence and a manifest."""
    return {"LICENSE": MIT, "pyproject.toml": '[project]\nname = "thing"\nlicense = "MIT"\n', **files}


def fresh(first: Kettle, folder: Path) -> Kettle:
    """A copy of the kettle to go on from."""
    return first.copy(folder)
