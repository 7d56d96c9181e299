"""Text of published files, from data/templates/publish. An undefined name is an error; nothing is escaped for HTML."""

import shlex
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FOLDER = Path(__file__).parents[1] / "data" / "templates" / "publish"


def render(template: str, **values: object) -> bytes:
    """A template with its values, as UTF-8. Filters beyond Jinja's own: `quote` (POSIX shell), `cell` (table cell)."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quote"] = shlex.quote
    environment.filters["cell"] = table_cell
    return environment.get_template(template).render(**values).encode(errors="replace")


def table_cell(value: object) -> str:
    """A value on one line of a Markdown table; None, which means `not measured`, becomes a dash."""
    if value is None:
        return "–"
    return " ".join(str(value).split()).replace("|", "\\|")
