"""What a candidate has around it: other candidates of its repository, what the hosting service says, what was consented to.

A qualifier gets it beside session and repository; with nothing around, everything is judged from those two alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blocks.catalog import query
from blocks.chain import Chain
from blocks.lake import ObjectStore, read_record
from blocks.phases import ingest_manifest
from blocks.records import CandidateRow, Record
from blocks.session import Session
from blocks.workshop import Workshop
from tasks.qualify.benchmarks import LISTS
from tasks.qualify.github import Hosting, NotAsked, hosting_of

NOBODY = NotAsked("no service was asked")
MAX_NEIGHBOURS = 200
_EARLIER = (
    "SELECT candidate_id FROM candidates WHERE status <> 'withdrawn' AND lower(repository) = lower('{repository}') "
    "AND (created_at, candidate_id) < (SELECT (created_at, candidate_id) FROM candidates WHERE candidate_id = '{own}') "
    "ORDER BY created_at, candidate_id LIMIT {most}"
)


class Neighbour(Record):
    """An earlier candidate of the same repository."""

    candidate_id: str
    session: Session


@dataclass(frozen=True)
class Surroundings:
    """See the module."""

    neighbours: Callable[[], tuple[Neighbour, ...]] = tuple
    """Earlier candidates of the repository, the oldest first; read when asked for."""
    hosting: Hosting = NOBODY
    benchmarks: Path = LISTS
    """Folder of the lists of commits that known benchmarks use."""
    scopes: tuple[str, ...] | None = None
    """What the contributor consented to; None where that is not known here."""


ALONE = Surroundings()


def look_around(workshop: Workshop, chain: Chain) -> Surroundings:
    """Read what is around one candidate. Earlier candidates are those that the catalog knows.

    Raises:
        TransientError: store or catalog did not answer.
    """
    candidate = chain.candidate()
    return Surroundings(
        neighbours=lambda: _neighbours(workshop, candidate),
        hosting=hosting_of(workshop, candidate.repository),
        scopes=tuple(scope for scope in candidate.consent_scopes.split(",") if scope) or None,
    )


def _neighbours(workshop: Workshop, candidate: CandidateRow) -> tuple[Neighbour, ...]:
    path = workshop.settings.catalog_path
    if not path.is_file():
        return ()
    repository = candidate.repository.replace("'", "''")
    asked = _EARLIER.format(repository=repository, own=candidate.candidate_id, most=MAX_NEIGHBOURS)
    names = [str(row[0]) for row in query(path, asked).rows]
    found = ((name, _session(workshop.store, name)) for name in names)
    return tuple(Neighbour(candidate_id=name, session=session) for name, session in found if session is not None)


def _session(store: ObjectStore, candidate_id: str) -> Session | None:
    manifest = ingest_manifest(store, candidate_id)
    if manifest is None or all(entry.name != "session.json" for entry in manifest.files):
        return None
    return read_record(store, manifest, "session.json", Session)
