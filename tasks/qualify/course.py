"""The course of a session: later wishes, where the agent got stuck and what unstuck it, and what stays open."""

import re
from collections.abc import Sequence

from blocks.records import Record
from blocks.session import Command, Intervention, Session, Speaker
from tasks.qualify.ledger import asks
from tasks.qualify.steering import without_steering
from tasks.qualify.verdict import Addition, Instruction, Requirement

TRIES = 3
"""So often in a row the same failing command, or edits of one file without a word between them, are being stuck."""
_FAILED = re.compile(
    r"\b(?:error|errors|failed|failure|failing|fail|traceback|exception|not found|cannot|no such file|undefined|panic"
    r"|segmentation fault)\b"
    r"|\bnpm ERR!|✗|✕|FAILED",
    re.IGNORECASE,
)
_FINE = re.compile(r"\b(?:0 (?:failed|failures?|errors?)|no errors?|0 failing)\b", re.IGNORECASE)
_PROCESS = re.compile(
    r"^(?:(?:ok|okay|now|please|then|and|great|good|thanks?|perfect|yes|no|hm+|well)[,.! ]+)*(?:can you |could you "
    r"|let'?s |just |also )*"
    r"(?:run|re-?run|commit|push|show|open|try again|retry|continue|go on|go ahead|proceed|stop|wait|explain|undo"
    r"|start over|keep going"
    r"|why (?:did|do|are|is)|what (?:did|do|are|is)|how (?:did|do)|read|look at|check|use the terminal|install|restart"
    r"|clean up|revert)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?:should|must|needs? to|has to|still|instead|never|also (?:add|support|handle|make)|don't|do not|want)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:better|nicer|properly|appropriate(?:ly)?|somehow|something like|etc\.?|and so on|maybe|perhaps|as needed"
    r"|if possible"
    r"|reasonable|sensible|good enough|more robust|clean(?:er)?|improve|optimi[sz]e)\b",
    re.IGNORECASE,
)


class Stuck(Record):
    """A stretch of the session in which the agent did not get on."""

    first_step: int
    last_step: int
    what: str
    unstuck_step: int | None
    """The step after which it went on; None where it never did."""
    unstuck_by: str
    """`user`: somebody stepped in; `agent`: it found the way itself; `nothing`."""


def specify(session: Session, items: Sequence[Requirement]) -> Instruction:
    """The first message, and the later wishes that are no mere order to the agent (run it, go on, show me)."""
    added = [
        Addition(text=item.quote, turn=item.turn)
        for item in items
        if item.added and item.precedent is None and _is_wish(item)
    ]
    return Instruction(verbatim=session.prompt, additions=tuple(added))


def find_stuck(session: Session) -> tuple[Stuck, ...]:
    """Repeated failures of one command, and repeated edits of one file."""
    found = [*_failing(session), *_editing(session)]
    return tuple(sorted(found, key=lambda one: one.first_step))


def open_questions(session: Session, items: Sequence[Requirement]) -> tuple[str, ...]:
    """What a competent engineer would still have to ask; each names what raises it."""
    text = asks(without_steering(session.prompt))
    questions = [
        f"what is meant by {match!r}?" for match in dict.fromkeys(found.lower() for found in _VAGUE.findall(text))
    ][:5]
    own = [item for item in items if item.precedent is None]
    if own and not any(item.positive for item in own):
        questions.append("what should happen instead? No sentence says what is expected.")
    if own and not any(item.surface for item in own):
        questions.append("where does it show? No function, option, file, error or output is named.")
    if text.rstrip().endswith("?"):
        questions.append("is this a wish or a question? The first message ends in a question mark.")
    return tuple(questions)


def _is_wish(item: Requirement) -> bool:
    return not _PROCESS.match(item.quote) or bool(_WISH.search(item.quote))


def _failed(command: Command) -> bool:
    if command.exit_code is not None:
        return command.exit_code != 0
    return bool(_FAILED.search(command.output)) and not _FINE.search(command.output)


def _failing(session: Session) -> list[Stuck]:
    runs: dict[str, list[Command]] = {}
    found = []
    for command in session.commands:
        name = " ".join(command.command.split())[:200]
        if _failed(command):
            runs.setdefault(name, []).append(command)
            continue
        if len(tries := runs.pop(name, [])) >= TRIES:
            found.append(
                _stuck(session, tries[0].step, tries[-1].step, f"{name} failed {len(tries)} times", command.step)
            )
    for name, tries in runs.items():
        if len(tries) >= TRIES:
            found.append(_stuck(session, tries[0].step, tries[-1].step, f"{name} failed {len(tries)} times", None))
    return found


def _editing(session: Session) -> list[Stuck]:
    users = [step.index for step in session.steps if _speaks(step.speaker, step.intervention)]
    found = []
    rows: dict[str, list[int]] = {}
    for edit in session.edits:
        steps = rows.setdefault(edit.path, [])
        if steps and any(steps[-1] < user <= edit.step for user in users):
            steps.clear()
        steps.append(edit.step)
    for path, steps in rows.items():
        if len(steps) > TRIES:
            after = next((step.index for step in session.steps if step.index > steps[-1]), None)
            found.append(_stuck(session, steps[0], steps[-1], f"{path} was edited {len(steps)} times in a row", after))
    return found


def _stuck(session: Session, first: int, last: int, what: str, unstuck: int | None) -> Stuck:
    helped = any(
        first < step.index <= (unstuck if unstuck is not None else first) and _speaks(step.speaker, step.intervention)
        for step in session.steps
    )
    by = "nothing" if unstuck is None else "user" if helped else "agent"
    return Stuck(first_step=first, last_step=last, what=what[:300], unstuck_step=unstuck, unstuck_by=by)


def _speaks(speaker: Speaker, intervention: Intervention | None) -> bool:
    return speaker is Speaker.USER and intervention not in (None, Intervention.PROMPT)
