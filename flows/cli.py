"""The command line: `envmill`. Commands live in flows/commands; Prefect is imported only by those that run flows."""

import sys

import typer
from rich.markup import escape

from blocks.errors import EnvmillError, ServiceMissingError, UsageError
from flows.commands import benchmarks, catalog, contributing, machine, reading, rebuild, review, running, working
from flows.commands.output import errors
from flows.interruption import RunInterruptedError

INTERRUPTED = 130
"""128 and the number of SIGINT, as shells tell it; also for SIGTERM."""

app = typer.Typer(
    name="envmill",
    help="Turns real, opted-in coding-agent sessions into verified, portable RL and evaluation environments.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(machine.doctor)
app.command()(contributing.contribute)
app.command()(running.ingest)
app.command()(running.run)
app.command()(reading.status)
app.command()(reading.show)
app.command()(reading.sql)
app.command()(running.publish)
app.command()(rebuild.rebuild)
app.command()(machine.up)
app.command()(working.worker)
app.command()(running.demo)
app.command()(benchmarks.benchmarks)
app.add_typer(review.app, name="review")
app.add_typer(catalog.app, name="catalog")


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 something failed, 2 wrong use, 3 a needed service is missing,
    130 interrupted.
    """
    try:
        app()
    except UsageError as error:
        _end(error, 2)
    except ServiceMissingError as error:
        _end(error, 3)
    except RunInterruptedError as error:
        _end(error, INTERRUPTED)
    except EnvmillError as error:
        _end(error, 1)


def _end(error: EnvmillError, code: int) -> None:
    errors.print(f"[red]envmill:[/red] {escape(str(error))}", soft_wrap=True)
    sys.exit(code)
