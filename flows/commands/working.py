"""The command of a worker: what a service manager starts, and starts again when it was killed."""

import asyncio
import os
import sys
from typing import Annotated

import typer

from blocks.errors import UsageError
from blocks.settings import load_settings
from blocks.workshop import Workshop
from flows.commands.output import console
from flows.server import configured_url


def worker(
    pool: Annotated[str, typer.Option(help="Work pool of Prefect to take runs from.")] = "process",
    run_once: Annotated[bool, typer.Option(help="End when what is due now is done.")] = False,
) -> None:
    """Work for a Prefect server, after cleaning up what a worker that was killed on this machine left behind.

    Runs that nobody ended are ended as Crashed first: until then they count against the limit of one nightly at a time.
    """
    settings = load_settings()
    url = configured_url(settings)
    if not url:
        raise UsageError("a worker needs a Prefect server: set PREFECT_API_URL or ENVMILL_PREFECT_API_URL")
    os.environ["PREFECT_API_URL"] = url
    from flows.abandoned import end_abandoned

    ended = asyncio.run(end_abandoned())
    removed = Workshop(settings).engine.reap()
    console.print(f"{ended} abandoned flow runs ended, {removed} containers of dead processes removed")
    sys.stdout.flush()
    argv = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, *(["--run-once"] if run_once else [])]
    os.execv(sys.executable, argv)
