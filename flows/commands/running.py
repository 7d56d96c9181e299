"""Commands that run flows: `run`, `ingest`, `publish`. Each has a Prefect server for its duration."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from blocks.catalog import query
from blocks.errors import UsageError
from blocks.records import Phase
from blocks.settings import Settings, load_settings
from blocks.workshop import Workshop
from flows.commands.hosting import with_server
from flows.commands.output import console, print_json
from flows.commands.reading import print_funnel

if TYPE_CHECKING:
    from flows.ingest import Intake
    from flows.nightly import RunReport
    from tasks.publish.phase import Published

_SAMPLE = Path(__file__).parents[2] / "data" / "sample"


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
    Workshop(settings).engine.describe()  # without an engine nothing can be built: said before anything begins
    wanted = _chosen(settings, candidate or [], retry)

    async def work() -> "RunReport":
        from flows.nightly import nightly

        return await nightly(wanted, publish)

    hosted = with_server(settings, work, quiet=as_json)
    report = hosted.result
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        for taken in report.taken:
            if not taken.accepted:
                console.print(
                    f"[yellow]refused[/yellow] {escape(taken.name)} {taken.reason_code}: {escape(taken.message)}",
                    soft_wrap=True,
                )
        print_funnel(settings)
        console.print(
            f"{report.containers} containers started, {hosted.task_runs} task runs, {hosted.unrecorded} not recorded"
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

    async def work() -> "Intake":
        from flows.indexing import index_patiently
        from flows.ingest import ingest as ingest_flow

        intake = await ingest_flow(list(inbox or settings.inboxes))
        await index_patiently(Workshop(settings))
        return intake

    intake = with_server(settings, work, quiet=as_json).result
    if as_json:
        print_json(intake.model_dump(mode="json"))
    else:
        for item in intake.taken:
            said = "[green]accepted[/green]" if item.accepted else f"[yellow]refused[/yellow] {item.reason_code}"
            again = " [dim](seen before)[/dim]" if item.reused else ""
            console.print(f"{escape(item.name)}  {said}{again}  {escape(item.message)}", soft_wrap=True)
        for crash in intake.crashed:
            console.print(f"[red]crashed[/red] {escape(crash)}", soft_wrap=True)
    if intake.crashed or any(not item.accepted for item in intake.taken):
        raise typer.Exit(1)


def publish(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a release of everything that is verified, also where nothing is new."""
    settings = load_settings()

    async def work() -> "Published | None":
        from flows.indexing import index_patiently
        from flows.publish import publish as publish_flow

        published = await publish_flow(force=True)
        await index_patiently(Workshop(settings))
        return published

    published = with_server(settings, work, quiet=as_json).result
    if published is None:
        raise UsageError("nothing is verified yet; run `envmill run`, and `envmill status` to see why")
    if as_json:
        print_json(published.model_dump(mode="json"))
    else:
        console.print(f"release {published.version} with {len(published.results)} environments: {published.folder}")


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
