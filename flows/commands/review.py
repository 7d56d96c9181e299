"""The commands `review list`, `review show`, `review decide`: a person answers what the qualifiers left open."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.markup import escape

from blocks.catalog import query
from blocks.chain import Chain
from blocks.errors import UsageError
from blocks.lake import ask_retry
from blocks.phases import load_chain
from blocks.records import Decision, Outcome, Phase, VerdictRow
from blocks.repositories import RepositoryUnreachableError
from blocks.settings import Settings, load_settings
from blocks.workshop import Workshop
from flows.candidates import find_candidate
from flows.commands.output import console, objects, print_json, print_table
from flows.judged import judged_in_run
from flows.verdict_page import lines
from tasks.qualify.disqualify import against_outcome
from tasks.qualify.phase import QUALIFY
from tasks.qualify.review import Answer, Review, record_review

app = typer.Typer(help="Candidates that the qualifiers left open: list, show, decide.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
_OPEN = (
    "SELECT c.candidate_id, c.repository, c.reason_code, "
    "(SELECT string_agg(v.qualifier || ' ' || v.reason_code, ', ' ORDER BY v.qualifier) FROM verdicts v "
    "WHERE v.candidate_id = c.candidate_id AND v.decision = 'unsure') AS doubts, left(c.instruction, 80) AS asked "
    "FROM candidates c WHERE c.status = 'needs_review' ORDER BY c.created_at, c.candidate_id"
)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Candidates that wait for a person, and what is in doubt."""
    result = query(load_settings().catalog_path, _OPEN)
    columns = [column.name for column in result.columns]
    if as_json:
        print_json(objects(columns, result.rows))
    elif result.rows:
        print_table(columns, result.rows)
    else:
        console.print("no candidate waits for a person")


@app.command()
def show(candidate: Annotated[str, typer.Argument(help="Id, or how it begins.")]) -> None:
    """One candidate on one screen, and how to decide."""
    settings = load_settings()
    workshop = Workshop(settings)
    chain = _judged_chain(workshop, settings, find_candidate(settings.catalog_path, candidate))
    judged = judged_in_run(workshop, chain.manifest(Phase.QUALIFY).key)
    for line in lines(judged) if judged else ():
        console.print(escape(line), soft_wrap=True)
    if chain.manifest(Phase.QUALIFY).outcome is Outcome.REVIEW:
        say = f"envmill review decide {chain.candidate_id} pass|fail --because '...' [--outcome COMMIT]"
        console.print(f"\n[bold]decide:[/bold] {escape(say)}", soft_wrap=True)


@app.command()
def decide(
    candidate: Annotated[str, typer.Argument(help="Id, or how it begins.")],
    decision: Annotated[str, typer.Argument(help="pass or fail.")],
    because: Annotated[str, typer.Option(help="Why; it is kept with the verdict.")],
    outcome: Annotated[str | None, typer.Option(help="The commit that settled it, where that was the doubt.")] = None,
    by: Annotated[str, typer.Option(help="Who decides, as it is to be kept.")] = "a person",
    as_json: AsJson = False,
) -> None:
    """Answer every open doubt of a candidate; the next run goes on from there."""
    settings = load_settings()
    candidate_id = find_candidate(settings.catalog_path, candidate)
    review = decide_review(Workshop(settings), candidate_id, decision, because=because, outcome=outcome, by=by)
    if as_json:
        print_json(review.model_dump(mode="json"))
        return
    doubts = ", ".join(f"{answer.qualifier} ({answer.doubt})" for answer in review.answers)
    console.print(
        f"{candidate_id}: {review.decision} for {escape(doubts)}; `envmill run {candidate_id}` goes on", soft_wrap=True
    )


def decide_review(
    workshop: Workshop, candidate_id: str, decision: str, *, because: str, outcome: str | None, by: str
) -> Review:
    """Keep a person's decision and make qualify pending again.

    Raises:
        UsageError: the candidate does not wait for a person, or the decision cannot be.
    """
    if decision not in (Decision.PASS, Decision.FAIL):
        raise UsageError(f"{decision!r}: a decision is pass or fail")
    if not because.strip():
        raise UsageError("--because is empty; say why, it is kept with the verdict")
    chain = _judged_chain(workshop, workshop.settings, candidate_id)
    manifest = chain.manifest(Phase.QUALIFY)
    if manifest.outcome is not Outcome.REVIEW:
        raise UsageError(f"{candidate_id}: qualify ended with {manifest.outcome}, nothing is open; see `envmill show`")
    rows = chain.rows(Phase.QUALIFY, VerdictRow)
    review = Review(
        candidate_id=candidate_id,
        decision=Decision(decision),
        answers=tuple(
            Answer(qualifier=row.qualifier, doubt=row.reason_code) for row in rows if row.decision is Decision.UNSURE
        ),
        because=" ".join(because.split())[:1000],
        by=" ".join(by.split())[:100] or "a person",
        outcome=_commit(workshop, chain, outcome, checked=decision == Decision.PASS) if outcome else None,
        decided_at=datetime.now(UTC),
    )
    record_review(workshop.store, review)
    ask_retry(workshop.store, candidate_id, Phase.QUALIFY)
    return review


def _judged_chain(workshop: Workshop, settings: Settings, candidate_id: str) -> Chain:
    chain, _ = load_chain(workshop.store, settings, candidate_id, (QUALIFY,))
    if Phase.QUALIFY not in chain.manifests:
        raise UsageError(
            f"{candidate_id}: qualify has not judged it yet with these settings; `envmill run {candidate_id}`"
        )
    return chain


def _commit(workshop: Workshop, chain: Chain, outcome: str, *, checked: bool) -> str:
    """The full id of a commit of the candidate's repository; `checked`: one that no rule of the disqualifier is against."""
    address = chain.candidate().repository
    try:
        repository = workshop.mirrors.open(address)
        found = repository.resolve(outcome)
    except RepositoryUnreachableError as error:
        raise UsageError(f"--outcome {outcome}: {error}") from error
    if found is None:
        raise UsageError(f"--outcome {outcome}: {address} has no such commit")
    fault = against_outcome(repository, found, workshop.settings.qualify) if checked else None
    if fault is not None:
        raise UsageError(
            f"--outcome {outcome}: {fault.reason_code}: {fault.message}; name another commit, or decide `fail`"
        )
    return found
