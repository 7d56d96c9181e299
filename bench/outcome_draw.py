"""Draws bug-fix commits from public repositories by the rule and seed of data/corpus/outcomes.toml, for bench/outcomes.py.

    python -m bench.outcome_draw data/corpus/outcomes.toml --mirrors FOLDER

Prints, per drawn repository, the fitting commits in the order in which the seed shuffles them.
"""

import argparse
import random
import re
import sys
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.corpus import Rule, find_mirror, fits
from blocks.repositories import Commit, Repository


@dataclass(frozen=True)
class DrawRule:
    """The rule of data/corpus/outcomes.toml."""

    seed: int
    repositories: int
    shown: int
    fits: Rule
    not_subject: re.Pattern[str]


def read_rule(path: Path) -> tuple[DrawRule, list[str]]:
    """The rule and the names to draw from."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    values = document["rule"]
    rule = Rule(
        since=datetime.fromisoformat(values["since"]).replace(tzinfo=UTC),
        until=datetime.fromisoformat(values["until"]).replace(tzinfo=UTC),
        subject=re.compile(values["subject"], re.IGNORECASE),
        test_path=re.compile(values["test_path"]),
        code_path=re.compile(values["code_path"]),
        max_lines=values["max_lines"],
    )
    drawn = DrawRule(
        values["seed"], values["repositories"], values["shown"], rule, re.compile(values["not_subject"], re.I)
    )
    return drawn, list(values["from"])


def fitting(repository: Repository, rule: DrawRule) -> list[Commit]:
    """All commits that the rule takes, shuffled by the seed and the repository's name."""
    history = repository.history("HEAD", since=rule.fits.since, until=rule.fits.until)
    named = [commit for commit in history if rule.fits.subject.search(commit.subject)]
    found = [
        commit
        for commit in named
        if not rule.not_subject.search(commit.subject) and fits(repository, commit, rule.fits)
    ]
    found.sort(key=lambda commit: commit.sha)
    random.Random(f"{rule.seed} {repository.identity}").shuffle(found)
    return found


def draw(path: Path, mirrors: Path) -> list[tuple[str, list[Commit]]]:
    """The drawn repositories with the first commits of each, in order."""
    rule, names = read_rule(path)
    names = sorted(names)
    random.Random(rule.seed).shuffle(names)
    taken: list[tuple[str, list[Commit]]] = []
    for name in names:
        mirror = find_mirror(mirrors, name)
        if mirror is None or len(taken) == rule.repositories:
            continue
        found = fitting(Repository(f"https://github.com/{name}", mirror), rule)
        if len(found) >= rule.shown:
            taken.append((name, found[: rule.shown]))
    return taken


def main() -> int:
    """Print what is drawn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rule", type=Path)
    parser.add_argument("--mirrors", type=Path, required=True)
    options = parser.parse_args()
    for name, commits in draw(options.rule, options.mirrors):
        print(f"# {name}")
        for commit in commits:
            print(f"{commit.sha} {commit.committed_at:%Y-%m-%d} {commit.subject}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
