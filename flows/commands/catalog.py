"""Commands on the catalog itself: `catalog index`, `catalog rebuild`, `catalog compare`."""

from pathlib import Path
from typing import Annotated

import typer

from blocks.catalog import compare as compare_catalogs
from blocks.catalog import index as index_catalog
from blocks.catalog import rebuild as rebuild_catalog
from blocks.lake import open_store
from blocks.settings import load_settings
from flows.commands.output import console, print_json

app = typer.Typer(no_args_is_help=True, help="The SQL index over the lake: it can always be rebuilt.")


@app.command()
def index() -> None:
    """Load what was committed since the last time."""
    settings = load_settings()
    print_json(index_catalog(open_store(settings), settings).model_dump(mode="json"))


@app.command()
def rebuild() -> None:
    """Make an equal catalog from the objects alone, and put it in the place of the old one."""
    settings = load_settings()
    print_json(rebuild_catalog(open_store(settings), settings).model_dump(mode="json"))


@app.command()
def compare(
    one: Annotated[Path, typer.Argument(help="A catalog file.")],
    other: Annotated[Path, typer.Argument(help="Another one.")],
) -> None:
    """Whether two catalogs are equal, volatile columns left out; exit 1 where they are not."""
    differences = compare_catalogs(one, other)
    for difference in differences:
        console.print(str(difference), markup=False, soft_wrap=True)
    if differences:
        raise typer.Exit(1)
    console.print("equal")
