"""The numbers of a dataset card: each is the answer to a named query over the catalog (data/sql/card.toml)."""

import tomllib
from pathlib import Path

from blocks.catalog import query
from blocks.errors import PermanentError
from tasks.publish.card import CardNumber

QUERIES = Path(__file__).parents[2] / "data" / "sql" / "card.toml"


def card_numbers(catalog: Path) -> dict[str, CardNumber]:
    """Ask every query of the card.

    Raises:
        PermanentError: a query does not give exactly one value.
    """
    queries = tomllib.loads(QUERIES.read_text(encoding="utf-8"))
    return {name: CardNumber(value=_value(catalog, name, str(sql)), sql=str(sql)) for name, sql in queries.items()}


def _value(catalog: Path, name: str, sql: str) -> int | float | str | None:
    rows = query(catalog, sql).rows
    if len(rows) != 1 or len(rows[0]) != 1 or not isinstance(rows[0][0], int | float | str | None):
        raise PermanentError(
            f"card number {name!r}: its query in {QUERIES.name} gives {len(rows)} rows, not one number or text"
        )
    value: int | float | str | None = rows[0][0]
    return value
