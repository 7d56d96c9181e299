"""What a command that runs flows has around it: a Prefect server, a log file, an end that leaves nothing behind."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from blocks.lake import open_store
from blocks.settings import Settings
from blocks.workshop import Workshop
from flows.commands.board import shown
from flows.interruption import RunInterruptedError, Undertaker, end_like_interrupt

Result = TypeVar("Result")
_LOGGING = Path(__file__).parents[2] / "data" / "logging.yml"


@dataclass(frozen=True)
class Hosted(Generic[Result]):
    """What the work gave, and how its task runs got to the server."""

    result: Result
    task_runs: int
    unrecorded: int
    """Task runs the server does not know the end of; 0 is what it should be."""


def with_server(settings: Settings, work: Callable[[], Awaitable[Result]], *, quiet: bool) -> Hosted[Result]:
    """Do async work with a Prefect server, showing progress; the server is ours only where none is configured.

    Raises:
        UsageError: the lake's address is not one.
        ServiceMissingError: there is no store, or no server.
        RunInterruptedError: Ctrl-C or SIGTERM; no container of ours is left.
    """
    open_store(settings)  # what is wrong with the lake is said before anything begins
    settings.home.mkdir(parents=True, exist_ok=True)
    _configure_prefect(settings.home)
    end_like_interrupt()
    from prefect.exceptions import TerminationSignal
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from flows.server import prefect_server

    logging.getLogger("httpx").setLevel(logging.WARNING)
    undertaker = Undertaker(Workshop(settings))
    try:
        with prefect_server(settings) as server, temporary_settings({PREFECT_API_URL: server.api_url}), shown(quiet):
            try:
                return asyncio.run(_hosted(work, undertaker))
            finally:
                undertaker.rest()
    except (KeyboardInterrupt, TerminationSignal):  # the latter is what Prefect makes of SIGTERM while a flow runs
        raise RunInterruptedError("interrupted; run again to go on where it stopped") from None


async def _hosted(work: Callable[[], Awaitable[Result]], undertaker: Undertaker) -> Hosted[Result]:
    """Do the work, then wait for what the server still has to hear, while it is there."""
    from prefect.logging.handlers import APILogHandler

    from blocks.prefect_options import started_task_runs
    from flows.server import await_recorded

    with started_task_runs() as started:
        working = asyncio.ensure_future(work())
        try:
            result = await asyncio.shield(working)
        except asyncio.CancelledError:
            undertaker.start()  # first of all: while Prefect says farewell, a step's thread could commit
            working.cancel()
            await asyncio.wait([working])
            raise
        finally:
            await APILogHandler.aflush()
    return Hosted(result, len(started), await await_recorded(started))


def _configure_prefect(home: Path) -> None:
    """Prefect reads its environment when it is first imported; what somebody set stays as it is."""
    os.environ.setdefault("PREFECT_HOME", str((home / "prefect").absolute()))
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    if "PREFECT_LOGGING_SETTINGS_PATH" not in os.environ:
        os.environ["PREFECT_LOGGING_SETTINGS_PATH"] = str(_LOGGING)
        os.environ["PREFECT_LOGGING_HANDLERS_FILE_FILENAME"] = str((home / "run.log").absolute())
