"""What a person reads of a build that failed, as Markdown and rows for the Prefect UI. No Prefect here.

Everything of a repository is hostile, and the UI renders Markdown also in the cells of tables: such text stands in code,
which it cannot leave, and holds no control characters.
"""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from blocks.records import CandidateRow, ObstacleRow, Phase, ReasonCode

_TAIL_LINES = 25
_LONGEST_LINE = 400
_LONGEST_HEADLINE = 300
_CELL_COLUMNS, _CELL_LINES = 38, 6
_ANSI = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)")
_ERROR = re.compile(
    r"^(?:E\s+)?((?:[\w.]*(?:Error|Exception|Interrupt)\b|(?:error|fatal|cause):|\S+: (?:fatal )?error:|npm error ).*)"
)


@dataclass(frozen=True)
class LogPlace:
    """Where the whole log of a phase run is: in a browser, in the lake, on a terminal."""

    url: str
    uri: str
    command: str


@dataclass(frozen=True)
class Failure:
    """A failed phase run."""

    candidate: CandidateRow
    phase: Phase
    reason_code: ReasonCode
    message: str
    obstacles: Sequence[ObstacleRow]
    log: str
    place: LogPlace | None
    """None where the phase wrote no log."""
    dockerfile: str | None
    """What the environment would be built from; None where archaeology did not come to a recipe."""
    requirements: Sequence[str]
    """What the recipe asks for, as requirement strings."""


def headline(message: str) -> str:
    """One line that says what happened: the first one and, of what it announces, the last that names an error."""
    lines = [line.strip() for line in _plain(message).splitlines() if line.strip()]
    if not lines:
        return ""
    first, rest = lines[0], lines[1:]
    named = [found[1] for line in rest if (found := _ERROR.match(line))]
    said = named[-1] if named else rest[-1] if rest and first.endswith(":") else ""
    return f"{first.rstrip(':')}: {said}"[:_LONGEST_HEADLINE] if said else first[:_LONGEST_HEADLINE]


def markdown(failure: Failure) -> str:
    """The page: what happened, where the whole log is, what stood in the way, end of the log, Dockerfile, what to do."""
    candidate, place = failure.candidate, failure.place
    parts = [
        f"# {failure.phase} failed: `{failure.reason_code}`",
        f"{_code(headline(failure.message))}",
        f"Repository {_code(candidate.repository)}, start {_code(candidate.start_commit[:12])}, candidate "
        f"{_code(candidate.candidate_id)}.",
    ]
    if place:
        parts += [f"**[The whole log]({place.url})** or, on a terminal, {_code(place.command)}"]
    parts += ["## What was said", _fenced(failure.message)]
    if failure.obstacles:
        parts += ["## What stood in the way", "\n".join(_items(failure.obstacles))]
    parts += ["## End of the log", _fenced(tail(failure.log))]
    if failure.dockerfile:
        parts += ["## Dockerfile", "What the environment is built from, as far as it was worked out."]
        parts += [_fenced(failure.dockerfile)]
    if failure.requirements:
        parts += ["## Requirements", _fenced("\n".join(failure.requirements))]
    retry = f"envmill run --retry {failure.phase} {candidate.candidate_id}"
    parts += ["## When the cause is mended", f"{_code(retry)}, or the deployment `rerun`."]
    return "\n\n".join(parts)


def rows(obstacles: Sequence[ObstacleRow]) -> list[dict[str, str | int]]:
    """The table of obstacles, in the order they were met; narrow enough that every column is on the screen."""
    return [
        {
            "nr": number,
            "resolved": "yes" if row.resolved else "no",
            "what stood in the way": _cell(row.symptom),
            "what was tried": _cell(row.remedy),
        }
        for number, row in enumerate(obstacles, start=1)
    ]


def plain(failure: Failure) -> str:
    """For the run's own log, which the UI shows first."""
    lines = [f"{failure.phase} failed, {failure.reason_code}: {headline(failure.message)}", "", _plain(failure.message)]
    if failure.obstacles:
        lines += ["", "What stood in the way:"]
        for number, row in enumerate(failure.obstacles, start=1):
            ended = "resolved" if row.resolved else "not resolved"
            lines.append(f"{number}. {headline(row.symptom)} -> {headline(row.remedy) or 'nothing'} ({ended})")
    if failure.place:
        lines += ["", f"The whole log: {failure.place.url}", f"In the lake: {failure.place.uri}"]
        lines += [f"On a terminal: {failure.place.command}"]
    return "\n".join([*lines, "", "The Artifacts tab has the end of the log, the Dockerfile and the obstacles."])


def log_description(place: LogPlace) -> str:
    """What stands beside the link to the log."""
    return f"Served by `envmill up`. In the lake: {_code(place.uri)} On a terminal: {_code(place.command)}"


def tail(log: str) -> str:
    """The last lines that are not blank, each of bounded length; says how many there are before them."""
    lines = [line.rstrip() for line in _plain(log).splitlines() if line.strip()]
    shown = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} ..." for line in lines[-_TAIL_LINES:]]
    left_out = len(lines) - len(shown)
    return "\n".join([*([f"... {left_out} lines before"] if left_out else []), *shown])


def _items(obstacles: Iterable[ObstacleRow]) -> Iterable[str]:
    for number, row in enumerate(obstacles, start=1):
        ended = "resolved" if row.resolved else "**not resolved**"
        yield f"{number}. {_code(headline(row.symptom))} → {_code(headline(row.remedy) or 'nothing')}, {ended}"


def _cell(text: str) -> str:
    """Code of few lines, each short enough; the table's cells do not wrap."""
    lines = [part for line in _plain(text).splitlines() for part in textwrap.wrap(line, _CELL_COLUMNS)]
    kept = lines if len(lines) <= _CELL_LINES else [*lines[: _CELL_LINES - 1], "..."]
    return "\n".join(map(_code, kept))


def _plain(text: str) -> str:
    """Text without colours, carriage returns and what else does not print."""
    bare = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in bare)


def _code(text: str) -> str:
    """A code span that hostile text cannot close (CommonMark 6.1): its fence is longer than any in the text."""
    line = " ".join(_plain(text).split())
    if not line:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def _fenced(text: str) -> str:
    """A code block that hostile text cannot close: its fence is longer than any in the text."""
    bare = _plain(text)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", bare)), default=0))
    return f"{fence}\n{bare}\n{fence}"
