"""The contributor's command: `contribute`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from blocks.errors import UsageError
from blocks.settings import load_settings
from flows.commands.output import console
from tasks.ingest.consent import Scope, statement_text
from tasks.ingest.prompt import write_prompt_contribution


def contribute(
    repo: Annotated[str, typer.Option(help="Address of the public repository.")],
    commit: Annotated[str, typer.Option(help="The commit the work starts from, 40 hex digits.")],
    prompt_file: Annotated[Path, typer.Option(help="A text file with the prompt.")],
    contributor: Annotated[str, typer.Option(help="Who you are; only a hash of it is kept.")],
    consent: Annotated[bool, typer.Option("--consent", help="You agree to the statement that is shown.")] = False,
    scope: Annotated[list[Scope] | None, typer.Option(help="What you agree to; none: everything.")] = None,
    inbox: Annotated[Path | None, typer.Option(help="Inbox folder; none: the first configured one.")] = None,
) -> None:
    """Hand in a bare prompt for a repository and commit, with your consent."""
    if not prompt_file.is_file():
        raise UsageError(f"{prompt_file}: no such file; write the prompt into it")
    console.print(statement_text(), markup=False)
    if not consent and not (console.is_terminal and typer.confirm("Do you agree?", default=False)):
        raise UsageError("nothing was handed in: without consent there is no contribution; pass --consent to agree")
    try:
        prompt = prompt_file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{prompt_file}: not UTF-8 text; save it as UTF-8") from None
    folder = write_prompt_contribution(
        inbox or Path(load_settings().inboxes[0]),
        repository=repo,
        commit=commit,
        prompt=prompt,
        contributor=contributor,
        scopes=tuple(scope or Scope),
        now=datetime.now(UTC),
    )
    console.print(f"handed in: {folder}\nnow run `envmill run`", markup=False, soft_wrap=True)
