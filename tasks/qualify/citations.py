"""Whether what a model cites is there: every quote is looked for in the place it names. What is not there does not count.

Places: `step:<n>` of the session, `<path>:<line>` at the start commit (the quote begins on that line), `commit:<sha>`
(its message, or lines of its patch). Blanks and line ends do not count; placeholders of the redaction are text like any.
"""

import re

from blocks.records import Record
from blocks.repositories import GitError, ObjectsMissingError, Repository
from blocks.session import Session, Step
from tasks.qualify.tools import commit_patch, file_lines

MIN_QUOTE = 8
"""Characters without blanks: less stands everywhere."""
MAX_QUOTE = 2000
_STEP = re.compile(r"^step:(\d{1,6})$")
_COMMIT = re.compile(r"^commit:([0-9a-f]{7,40})$")
_LINE = re.compile(r"^(?P<path>[^\0\n]{1,500}):(?P<line>\d{1,7})$")


class Claim(Record):
    """Something a verdict rests on."""

    text: str
    """What is claimed, in the judge's words."""
    quote: str
    """Verbatim from the place."""
    where: str


class Checked(Record):
    """The claims whose quote is where they say, and the others, each with what is wrong."""

    kept: tuple[Claim, ...]
    dropped: tuple[tuple[Claim, str], ...]


def check_claims(claims: tuple[Claim, ...], session: Session, repository: Repository | None, start: str) -> Checked:
    """Look every quote up.

    Args:
        claims: what is claimed.
        session: where `step:` leads.
        repository: where paths and commits lead; None where it cannot be read.
        start: full id of the start commit.
    """
    kept, dropped = [], []
    for claim in claims:
        fault = _fault(claim, session, repository, start)
        if fault is None:
            kept.append(claim)
        else:
            dropped.append((claim, fault))
    return Checked(kept=tuple(kept), dropped=tuple(dropped))


def _fault(claim: Claim, session: Session, repository: Repository | None, start: str) -> str | None:
    quote = _folded(claim.quote)
    if len(quote.replace(" ", "")) < MIN_QUOTE or len(quote) > MAX_QUOTE:
        return f"a quote has {MIN_QUOTE} to {MAX_QUOTE} characters"
    if step := _STEP.match(claim.where):
        said = next((one for one in session.steps if one.index == int(step[1])), None)
        if said is None:
            return "the session has no such step"
        return None if any(quote in _folded(text) for text in _texts(said)) else "the step does not say so"
    if repository is None:
        return "the repository cannot be read"
    try:
        if commit := _COMMIT.match(claim.where):
            return _of_commit(quote, commit[1], repository)
        if line := _LINE.match(claim.where):
            return _of_line(quote, line["path"], int(line["line"]), repository, start)
    except (GitError, ObjectsMissingError):
        return "the mirror cannot say"
    return "a place is step:<n>, <path>:<line> or commit:<sha>"


def _of_commit(quote: str, name: str, repository: Repository) -> str | None:
    sha = repository.resolve(name)
    if sha is None:
        return "there is no such commit"
    if quote in _folded(repository.commit(sha).message):
        return None
    patch = commit_patch(repository, sha).splitlines()
    plain = [line[1:] for line in patch if line[:1] in "+- " and not line.startswith(("+++ ", "--- "))]
    sides = [[line[1:] for line in patch if line[:1] in marks] for marks in ("+ ", "- ")]
    found = any(quote in _folded("\n".join(lines)) for lines in (patch, plain, *sides))
    return None if found else "neither its message nor its patch says so"


def _of_line(quote: str, path: str, number: int, repository: Repository, start: str) -> str | None:
    lines = file_lines(repository, start, path)
    if lines is None:
        return "there is no such text file at the start commit"
    if not 1 <= number <= len(lines):
        return f"the file has {len(lines)} lines"
    first = _folded(lines[number - 1])
    place = _folded("\n".join(lines[number - 1 : number + 100])).find(quote)
    return None if first and 0 <= place < len(first) else "the line does not begin so"


def _texts(step: Step) -> list[str]:
    texts = [step.text, step.reasoning or ""]
    texts += [call.arguments for call in step.tool_calls]
    return texts + [observation.content for observation in step.observations]


def _folded(text: str) -> str:
    return " ".join(text.split())
