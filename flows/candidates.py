"""Which candidates there are, asked of the catalog."""

from pathlib import Path

from blocks.catalog import query
from blocks.errors import UsageError


def candidate_ids(catalog: Path) -> list[str]:
    """Ids of all candidates that are not withdrawn, oldest first."""
    rows = query(
        catalog, "SELECT candidate_id FROM candidates WHERE status <> 'withdrawn' ORDER BY created_at, candidate_id"
    )
    return [str(row[0]) for row in rows.rows]


def find_candidate(catalog: Path, prefix: str) -> str:
    """The one candidate whose id, with or without its `c-`, begins like this.

    Raises:
        UsageError: none, or several.
    """
    wanted = prefix.removeprefix("c-")
    found = [name for name in candidate_ids(catalog) if name.removeprefix("c-").startswith(wanted)]
    if len(found) != 1:
        raise UsageError(f"{prefix}: {len(found)} candidates begin like this; `envmill status` lists all of them")
    return found[0]
