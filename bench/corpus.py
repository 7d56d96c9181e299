"""The corpus: draws one commit per repository by the written rule (data/corpus/*.toml) and writes prompt contributions.

    python -m bench.corpus data/corpus/python.toml --mirrors FOLDER [--first N] [--inbox FOLDER]

`--mirrors` names a folder that holds `owner+name/repo` or `owner/name` Git directories; a repository that is not there is
said to be missing. Without `--inbox` it only prints what the rule picks.
"""

import argparse
import json
import re
import sys
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from blocks.path_kinds import PathKind, kind_of
from blocks.repositories import Commit, Repository
from tasks.ingest.consent import Scope
from tasks.ingest.prompt import write_prompt_contribution


@dataclass(frozen=True)
class Rule:
    """The rule of a corpus file."""

    since: datetime
    until: datetime
    subject: re.Pattern[str]
    test_path: re.Pattern[str]
    code_path: re.Pattern[str]
    """Files of the stack, tests among them."""
    max_lines: int


@dataclass(frozen=True)
class Draw:
    """What the rule picked in one repository."""

    name: str
    address: str
    mirror: Path | None
    commit: Commit | None

    @property
    def start(self) -> str:
        """The start commit: the first parent."""
        return self.commit.parents[0] if self.commit else ""


def read_corpus(path: Path) -> list[tuple[str, Rule]]:
    """The names, in order, each with its rule: the file's, with the window of the entry where that has its own."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return [(entry["name"], _rule({**document["rule"], **entry})) for entry in document["repository"]]


def _rule(values: dict[str, str | int]) -> Rule:
    return Rule(
        since=datetime.fromisoformat(str(values["since"])).replace(tzinfo=UTC),
        until=datetime.fromisoformat(str(values["until"])).replace(tzinfo=UTC),
        subject=re.compile(str(values["subject"]), re.I),
        test_path=re.compile(str(values["test_path"])),
        code_path=re.compile(str(values.get("code_path", r"\.py$"))),
        max_lines=int(values["max_lines"]),
    )


def find_mirror(folder: Path, name: str) -> Path | None:
    """The Git directory of a repository below the folder of mirrors."""
    places = (folder / name.replace("/", "+") / "repo", folder / name.replace("/", "+"), folder / name)
    return next((place for place in places if (place / "HEAD").is_file() or (place / ".git").is_dir()), None)


def draw(name: str, mirrors: Path, rule: Rule) -> Draw:
    """Apply the rule to one repository."""
    address = f"https://github.com/{name}"
    mirror = find_mirror(mirrors, name)
    if mirror is None:
        return Draw(name, address, None, None)
    repository = Repository(address, mirror)
    return Draw(name, address, mirror, _pick(repository, rule))


def _pick(repository: Repository, rule: Rule) -> Commit | None:
    history = repository.history("HEAD", since=rule.since, until=rule.until)
    return next((commit for commit in history if fits(repository, commit, rule)), None)


def fits(repository: Repository, commit: Commit, rule: Rule) -> bool:
    """Whether the rule picks this commit."""
    if len(commit.parents) != 1 or not rule.subject.search(commit.subject):
        return False
    changes = repository.changes(commit.sha)
    code = [change.path for change in changes if rule.code_path.search(change.path)]
    tests = [path for path in code if rule.test_path.search(path)]
    source = [path for path in code if path not in tests and kind_of(path) is PathKind.SOURCE]
    return bool(tests and source) and sum(change.insertions + change.deletions for change in changes) <= rule.max_lines


def prompt_of(commit: Commit) -> str:
    """Subject and prose of the message, without what names the change rather than the problem."""
    kept = []
    for line in commit.body.splitlines():
        if re.match(r"^[A-Z][\w-]+(-by)?: ", line) or re.match(r"^\s*([*+-]|\(cherry)", line):
            continue
        kept.append(line)
    text = f"{commit.subject}\n\n" + "\n".join(kept).strip()
    text = re.sub(r"\b[0-9a-f]{7,40}\b", "", re.sub(r"\s*\(?#\d+\)?", "", text))
    return text.strip() + "\n"


def main() -> int:
    """Draw, and where an inbox is named, hand in."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--first", type=int, default=None)
    parser.add_argument("--inbox", type=Path)
    options = parser.parse_args()
    picked = [draw(name, options.mirrors, rule) for name, rule in read_corpus(options.corpus)[: options.first]]
    for one in picked:
        said = (
            f"{one.commit.sha} {one.commit.subject}" if one.commit else "no commit fits" if one.mirror else "no mirror"
        )
        print(f"{one.name}\t{one.start or '-'}\t{said}")
    if options.inbox:
        for one in picked:
            if one.commit:
                write_prompt_contribution(
                    options.inbox,
                    repository=one.address,
                    commit=one.start,
                    prompt=prompt_of(one.commit),
                    contributor="corpus",
                    scopes=tuple(Scope),
                    now=datetime.now(UTC),
                )
        mirrors = {one.address: str(one.mirror.absolute()) for one in picked if one.mirror}
        print(f"export ENVMILL_MIRRORS='{json.dumps(mirrors)}'")
    return 0


if __name__ == "__main__":
    sys.exit(main())
