"""How commands print: tables for people, one JSON document for programs."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_WIDTH = None if sys.stdout.isatty() else 160

console = Console(highlight=False, width=_WIDTH)
errors = Console(stderr=True, highlight=False, width=_WIDTH)

_COLOURS = {
    "passed": "green",
    "rejected": "yellow",
    "failed": "red",
    "crashed": "red",
    "review": "cyan",
    "needs_model": "cyan",
}


def print_json(document: object) -> None:
    """Print one JSON document."""
    console.print(json.dumps(document, indent=2, default=_plain, ensure_ascii=False), markup=False, soft_wrap=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """Print rows as a table; text from sessions and repositories is never read as markup."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(escape(column), overflow="fold")
    for row in rows:
        table.add_row(*(escape("" if value is None else _cell(value)) for value in row))
    console.print(table)


def objects(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[Mapping[str, object]]:
    """Rows as JSON objects."""
    return [dict(zip(columns, row, strict=True)) for row in rows]


def coloured(outcome: str) -> str:
    """An outcome in its colour, as markup."""
    colour = _COLOURS.get(outcome, "white")
    return f"[{colour}]{escape(outcome)}[/{colour}]"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(_plain(value)) if isinstance(value, date) else str(value)


def _plain(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)
