"""Commands that ask the catalog: `status`, `show`, `sql`."""

from typing import Annotated

import typer
from rich.markup import escape

from blocks.catalog import QueryResult, query
from blocks.lake import open_store
from blocks.settings import Settings, load_settings
from flows.commands.output import console, objects, print_json, print_table
from flows.judged import judged_in_catalog
from flows.logs import last_log
from flows.verdict_page import lines

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

_STATUS = (
    "SELECT candidate_id, repository, source, status, reason_code FROM candidates ORDER BY created_at, candidate_id"
)
_SHOWN = {
    "verdicts": "SELECT qualifier, decision, reason_code, confidence, judge, evidence FROM verdicts WHERE candidate_id = '{0}'",
    "outcomes": 'SELECT "rank", "commit", score, overlap FROM outcomes WHERE candidate_id = \'{0}\' ORDER BY "rank" LIMIT 3',
    "reconstruction": "SELECT end_commit, runtime, as_of, fail_to_pass, pass_to_pass, pass_to_fail, status, reason_code "
    "FROM reconstructions WHERE candidate_id = '{0}'",
    "obstacles": "SELECT phase, attempt, symptom, remedy, resolved FROM obstacles WHERE candidate_id = '{0}'",
    "environment": "SELECT environment_id, image, size_bytes, unique_bytes, leak_hits, status, reason_code "
    "FROM environments WHERE candidate_id = '{0}'",
    "verifier": "SELECT grade, tier, fail_to_pass, pass_to_pass, nop_reward, oracle_reward, repeats, flips, hunks_required, "
    "hunks_detected, status, reason_code FROM verifiers WHERE candidate_id = '{0}'",
    "rollouts": "SELECT agent, model, reward, exit_reason, steps, seconds FROM rollouts WHERE candidate_id = '{0}'",
    "phase_runs": "SELECT phase, state, reason_code, message, seconds, started_at FROM phase_runs WHERE candidate_id = '{0}' "
    "ORDER BY started_at",
}


def sql(query_text: Annotated[str, typer.Argument(metavar="QUERY")], as_json: AsJson = False) -> None:
    """Ask the catalog a question; read-only, without files or network."""
    result = query(load_settings().catalog_path, query_text)
    _print(result, as_json)


def status(as_json: AsJson = False) -> None:
    """Every candidate with its status and reason, and the funnel."""
    settings = load_settings()
    result = query(settings.catalog_path, _STATUS)
    if as_json:
        print_json(objects([column.name for column in result.columns], result.rows))
        return
    _print(result, as_json=False)
    print_funnel(settings)


def show(
    candidate: Annotated[str, typer.Argument(help="Id, or how it begins.")],
    as_json: AsJson = False,
    log: Annotated[str | None, typer.Option("--log", metavar="PHASE", help="Print this phase's whole log.")] = None,
) -> None:
    """Everything about one candidate on one screen: why it passed or fell."""
    from flows.candidates import find_candidate

    settings = load_settings()
    candidate_id = find_candidate(settings.catalog_path, candidate)
    if log is not None:
        typer.echo(last_log(open_store(settings), candidate_id, log))
        return
    head = query(settings.catalog_path, f"SELECT * FROM candidates WHERE candidate_id = '{candidate_id}'")
    names = [column.name for column in head.columns]
    parts = {name: query(settings.catalog_path, text.format(candidate_id)) for name, text in _SHOWN.items()}
    if as_json:
        document: dict[str, object] = {"candidate": objects(names, head.rows)[0]}
        document |= {name: objects([column.name for column in part.columns], part.rows) for name, part in parts.items()}
        print_json(document)
        return
    judged = judged_in_catalog(settings.catalog_path, candidate_id)
    if judged is None:
        for name, value in objects(names, head.rows)[0].items():
            console.print(f"[bold]{escape(name)}[/bold]  {escape(str(value))}", soft_wrap=True)
    for line in lines(judged) if judged else ():
        console.print(escape(line), soft_wrap=True)
    for name, part in parts.items():
        if part.rows and not (judged and name in ("verdicts", "outcomes")):
            print_table([column.name for column in part.columns], part.rows, title=name)


def print_funnel(settings: Settings) -> None:
    """The funnel view as a table."""
    _print(query(settings.catalog_path, "SELECT * FROM funnel"), as_json=False, title="funnel")


def _print(result: QueryResult, as_json: bool, title: str | None = None) -> None:
    columns = [column.name for column in result.columns]
    if as_json:
        print_json(objects(columns, result.rows))
    else:
        print_table(columns, result.rows, title=title)
