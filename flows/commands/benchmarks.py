"""The command `benchmarks`: keeps the lists of commits that known benchmarks use, which no candidate may be."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from flows.commands.output import console
from tasks.qualify.benchmarks import read_source, write_list


def benchmarks(
    name: Annotated[str, typer.Argument(help="Name of the benchmark: small letters, digits, dots, hyphens.")],
    source: Annotated[Path, typer.Argument(help="Its rows (jsonl, json, parquet) or a folder of its tasks.")],
) -> None:
    """Write the list of commits that a benchmark uses; candidates with one of them are turned down."""
    pairs = read_source(source)
    said = f"{name}: {len(pairs)} commits, read from {source.name} on {datetime.now(UTC):%Y-%m-%d}"
    path = write_list(name, pairs, said)
    console.print(
        f"{escape(str(path))}: {len(pairs)} commits of {len({one for one, _ in pairs})} repositories", soft_wrap=True
    )
