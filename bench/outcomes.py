"""Outcome finding on public repositories: is the right commit ranked first, given only its first parent and a user's prompt?

    python -m bench.outcomes --mirrors FOLDER [--part tuned|held|all] [--show N] [--markdown]

The cases are those of data/corpus/outcomes.toml. A commit of the right one's family (the merge that brought it, the squash of
it) counts as right. Ends with 1 where fewer than 85 % are ranked first.
"""

import argparse
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import find_mirror
from blocks.records import Record
from blocks.repositories import Repository
from blocks.session import Intervention, Session, Speaker, Step
from blocks.settings import QualifySettings
from tasks.qualify.outcome import qualify_outcome
from tasks.qualify.ranking import Ranked, rank_outcomes

CASES = Path(__file__).parents[1] / "data" / "corpus" / "outcomes.toml"
AIM = 0.85


class Case(Record):
    """One drawn commit and the prompt somebody might have written before it."""

    repository: str
    commit: str
    part: str
    prompt: str


@dataclass(frozen=True)
class Found:
    """Where the right commit came out."""

    case: Case
    rank: int | None
    """From 1; None where it is not among the ranked ones."""
    decision: str
    margin: float | None
    considered: int
    seconds: float
    ranked: tuple[Ranked, ...]


def read_cases(path: Path = CASES) -> list[Case]:
    """The cases of the file, in its order."""
    return [Case.model_validate(entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["case"]]


def bare_prompt(repository: str, start: str, prompt: str) -> Session:
    """A session that is nothing but its prompt."""
    step = Step(index=0, speaker=Speaker.USER, text=prompt, intervention=Intervention.PROMPT)
    return Session(
        source="prompt",
        session_id="bench",
        repository=repository,
        start_commit=start,
        start_evidence="given",
        steps=(step,),
    )


def find(case: Case, mirrors: Path) -> Found | None:
    """Rank the commits after the first parent; None where there is no mirror."""
    mirror = find_mirror(mirrors, case.repository)
    if mirror is None:
        return None
    repository = Repository(f"https://github.com/{case.repository}", mirror)
    session = bare_prompt(repository.identity, repository.commit(case.commit).parents[0], case.prompt)
    settings = QualifySettings()
    started = time.monotonic()
    ranked = tuple(item for item in rank_outcomes(session, repository, settings) if item.evidence.source)
    seconds = time.monotonic() - started
    verdict = qualify_outcome(session, repository, settings)
    right = next((item for item in ranked if item.commit == case.commit), None)
    family = right.evidence.family if right else case.commit
    place = next(
        (rank for rank, item in enumerate(ranked, 1) if item.commit == case.commit or item.evidence.family == family),
        None,
    )
    other = (
        next((item for item in ranked if item.evidence.family != ranked[0].evidence.family), None) if ranked else None
    )
    margin = (ranked[0].score - other.score) / ranked[0].score if other else None
    return Found(case, place, f"{verdict.decision} {verdict.reason_code}", margin, len(ranked), seconds, ranked)


def main() -> int:
    """Rank every case and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--part", choices=("tuned", "held", "all"), default="all")
    parser.add_argument("--show", type=int, default=0, help="Also print the first N of each wrong one.")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    cases = [case for case in read_cases() if options.part in ("all", case.part)]
    found = [item for case in cases if (item := find(case, options.mirrors)) is not None]
    for item in found:
        told = [item.case.repository, item.case.commit[:10], item.case.part, str(item.rank or "-"), item.decision]
        told += [f"{item.margin:.2f}" if item.margin is not None else "-", str(item.considered), f"{item.seconds:.1f}"]
        print(f"| {' | '.join(told)} |" if options.markdown else "\t".join(told), flush=True)
        for other in item.ranked[: options.show] if item.rank != 1 else ():
            print(
                f"      {other.score:.3f} {other.commit[:10]} {other.evidence.subject[:70]} {other.evidence.matched[:5]}"
            )
    first = sum(item.rank == 1 for item in found)
    passed = sum(item.decision.startswith("pass") for item in found)
    wrong = sum(item.decision.startswith("pass") and item.rank != 1 for item in found)
    share = first / len(found) if found else 0.0
    print(f"ranked first: {first} of {len(found)} ({share:.0%}); passed {passed}, {wrong} of them wrongly")
    if len(found) < len(cases):
        print(f"no mirror: {len(cases) - len(found)}")
    return 0 if share >= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
