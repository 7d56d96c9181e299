"""Commands that run flows: `run`, `ingest`, `publish`. Each has a Prefect server for its duration."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from blocks.catalog import query
from blocks.errors import UsageError
from blocks.records import Phase
from blocks.settings import Settings, load_settings
from flows.commands.output import coloured, console, print_json
from flows.commands.reading import print_funnel
from flows.progress import Event, listener

Result = TypeVar("Result")
_SAMPLE = Path(__file__).parents[2] / "data" / "sample"


class Board:
    """The progress display: one row per candidate, one column per phase."""

    def __init__(self) -> None:
        self.cells: dict[str, dict[Phase, str]] = {}
        self.notes: list[str] = []

    def hear(self, event: Event) -> None:
        """Take an event in; without a terminal it is printed as a line."""
        row = self.cells.setdefault(event.label, {})
        if event.outcome is None:
            row[event.phase] = "[dim]running[/dim]"
        else:
            mark = " [dim](reused)[/dim]" if event.reused else f" [dim]{event.seconds:.0f} s[/dim]"
            row[event.phase] = coloured(event.outcome) + mark
            if not event.reused and event.outcome != "passed":
                code = f" {event.reason_code}" if event.reason_code else ""
                self.notes.append(f"{event.label} {event.phase}: {event.outcome}{code}: {event.message[:300]}")
        if not console.is_terminal:
            said = row[event.phase]
            console.print(f"{escape(event.label)}  {event.phase}  {said}", soft_wrap=True)

    def __rich__(self) -> Table:
        """The table as it stands."""
        table = Table(header_style="bold")
        table.add_column("candidate")
        for phase in list(Phase)[:-1]:
            table.add_column(phase)
        for label, cells in self.cells.items():
            table.add_row(escape(label), *(cells.get(phase, "") for phase in list(Phase)[:-1]))
        return table


def run(
    candidate: Annotated[list[str] | None, typer.Argument(help="Only these candidates; none: everything.")] = None,
    retry: Annotated[
        str | None, typer.Option(help="Run this phase of the candidates anew, although it is committed.")
    ] = None,
    publish: Annotated[bool, typer.Option(help="Make a release of what is verified.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Take in the inbox, bring every candidate as far as it goes, publish; ends with the funnel."""
    settings = load_settings()
    wanted = _chosen(settings, candidate or [], retry)

    async def work() -> tuple[object, int]:
        from flows.nightly import nightly
        from flows.server import await_recorded

        report = await nightly(wanted, publish)
        unrecorded = await await_recorded(report.flow_run_id, report.task_runs)
        return report, unrecorded

    report, unrecorded = with_server(settings, work, quiet=as_json)
    from flows.nightly import RunReport

    assert isinstance(report, RunReport)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        for taken in report.taken:
            if not taken.accepted:
                console.print(f"[yellow]refused[/yellow] {escape(taken.message)}", soft_wrap=True)
        print_funnel(settings)
        console.print(
            f"{report.containers} containers started, {report.task_runs} task runs, {unrecorded} not recorded"
        )
        if report.release:
            console.print(f"release {report.release}: {settings.releases / 'latest'}", soft_wrap=True)
        for crash in report.crashed:
            console.print(f"[red]crashed[/red] {escape(crash)}", soft_wrap=True)
    if report.crashed or any(result.outcome == "failed" for result in report.results):
        raise typer.Exit(1)


def ingest(
    inbox: Annotated[
        list[str] | None, typer.Argument(help="Folders or s3:// prefixes; none: the configured ones.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Take in the items of the inbox: consented ones become candidates, redacted before the first write."""
    settings = load_settings()

    async def work() -> list[object]:
        from blocks.catalog import index
        from blocks.lake import open_store
        from flows.ingest import ingest as ingest_flow

        taken = await ingest_flow(list(inbox or settings.inboxes))
        await asyncio.to_thread(index, open_store(settings), settings)
        return list(taken)

    taken = with_server(settings, work, quiet=as_json)
    from tasks.ingest.steps import Taken

    items = [item for item in taken if isinstance(item, Taken)]
    if as_json:
        print_json([item.model_dump(mode="json") for item in items])
    else:
        for item in items:
            said = "[green]accepted[/green]" if item.accepted else f"[yellow]refused[/yellow] {item.reason_code}"
            again = " [dim](seen before)[/dim]" if item.reused else ""
            console.print(f"{escape(item.name)}  {said}{again}  {escape(item.message)}", soft_wrap=True)
    if any(not item.accepted for item in items):
        raise typer.Exit(1)


def publish(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a release of everything that is verified, also where nothing is new."""
    settings = load_settings()

    async def work() -> object:
        from blocks.catalog import index
        from blocks.lake import open_store
        from flows.publish import publish as publish_flow

        published = await publish_flow(force=True)
        await asyncio.to_thread(index, open_store(settings), settings)
        return published

    published = with_server(settings, work, quiet=as_json)
    from tasks.publish.phase import Published

    if not isinstance(published, Published):
        raise UsageError("nothing is verified yet; run `envmill run`, and `envmill status` to see why")
    if as_json:
        print_json(published.model_dump(mode="json"))
    else:
        console.print(f"release {published.version} with {len(published.results)} environments: {published.folder}")


def with_server(settings: Settings, work: Callable[[], Awaitable[Result]], *, quiet: bool) -> Result:
    """Do async work with a Prefect server, showing progress; the server is ours only where none is configured."""
    settings.home.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PREFECT_HOME", str((settings.home / "prefect").absolute()))
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from flows.server import prefect_server

    logging.getLogger("httpx").setLevel(logging.WARNING)
    with prefect_server(settings) as server, temporary_settings({PREFECT_API_URL: server.api_url}), _shown(quiet):
        return asyncio.run(_awaited(work))


async def _awaited(work: Callable[[], Awaitable[Result]]) -> Result:
    """Do the work, then send what Prefect's log handler still holds, while the server is there."""
    from prefect.logging.handlers import APILogHandler

    try:
        return await work()
    finally:
        await APILogHandler.aflush()


@contextlib.contextmanager
def _shown(quiet: bool) -> Iterator[None]:
    if quiet:
        yield
        return
    board = Board()
    mark = listener.set(board.hear)
    try:
        if console.is_terminal:
            with Live(board, console=console, refresh_per_second=4):
                yield
        else:
            yield
    finally:
        listener.reset(mark)
        for note in board.notes:
            console.print(escape(note), soft_wrap=True)


def _chosen(settings: Settings, candidates: list[str], retry: str | None) -> list[str]:
    from blocks.lake import ask_retry, open_store
    from flows.candidates import find_candidate

    found = [find_candidate(settings.catalog_path, prefix) for prefix in candidates]
    if retry:
        names = [phase.value for phase in list(Phase)[1:-1]]
        if retry not in names:
            raise UsageError(f"--retry {retry}: no such phase; it is one of {', '.join(names)}")
        if not found:
            raise UsageError("--retry needs the candidates it is for: `envmill run --retry archaeology ID`")
        store = open_store(settings)
        for candidate_id in found:
            ask_retry(store, candidate_id, Phase(retry))
    return found


def demo() -> None:
    """Run the whole pipeline on the sample contribution and show where its Harbor task lies."""
    os.environ.setdefault("ENVMILL_CONFIG", str(_SAMPLE / "envmill.toml"))
    settings = load_settings()
    run()
    rollouts = query(
        settings.catalog_path,
        "SELECT m.path, r.agent, r.reward FROM release_members m JOIN rollouts r USING (candidate_id) ORDER BY ALL",
    )
    tasks = sorted({str(row[0]) for row in rollouts.rows})
    for task in tasks:
        rewards = ", ".join(f"{agent} {reward:g}" for path, agent, reward in rollouts.rows if path == task)
        console.print(f"Harbor task: {settings.releases / 'latest' / task}\nrewards: {rewards}", soft_wrap=True)
    console.print("Prefect UI on the data of this run: .venv/bin/envmill up")
    if not tasks:
        raise typer.Exit(1)
