"""Options that a project gives its test tool, without those that a verifier decides (reporters, coverage, watching)."""

import re
from collections.abc import Iterator, Sequence

_DROPPED = {
    "jest": r"--(no-)?coverage|--collectCoverage|--watch|--ci$|--ci=|--silent|--verbose|--reporters|--bail|--update|-u$|-b$"
    r"|--json|--outputFile|--maxWorkers|-w$|--colou?rs|--onlyChanged|-o$|--changedSince|--lastCommit|--findRelatedTests"
    r"|--passWithNoTests|--detectOpenHandles|--forceExit|--logHeapUsage|--notify",
    "vitest": r"--coverage|--no-coverage|--reporter|--watch|--no-watch|-w$|--ui|--update|-u$|--bail|--run$|--silent|--open"
    r"|--outputFile|--passWithNoTests|--changed|--no-color|--color|--browser|--allowOnly|--inspect|--logHeapUsage",
    "mocha": r"--reporter|-R|--bail|-b$|--no-bail|--watch|-w$|--colou?r|--no-color|-c$|-C$|--forbid|--parallel|--jobs|-j"
    r"|--inspect|--growl|--exit$",
    "ava": r"--watch|-w$|--tap|-t$|--verbose|-v$|--fail-fast|--update-snapshots|-u$|--color|--no-color|--reset-cache",
    "node": r"--test",
    "bun": r"--coverage|--reporter|--bail|--watch|--update-snapshots|-u$|--only|--rerun-each",
    "borp": r"--coverage|-C$|--reporter|-r$|--watch|-w$|--check-coverage|--lines|--functions|--statements|--branches"
    r"|--concurrency|-c$|--timeout|-t$|--no-typescript|--post-compile|-P$|--pattern|-p$|--expose-gc",
}
_VALUED = {
    "jest": {
        "--reporters",
        "--maxWorkers",
        "-w",
        "--outputFile",
        "--changedSince",
        "--coverageReporters",
        "--coverageDirectory",
    },
    "vitest": {"--reporter", "--outputFile", "--bail", "--coverage.reporter", "--coverage.provider"},
    "mocha": {"--reporter", "-R", "--reporter-option", "--reporter-options", "-O", "--jobs", "-j", "--watch-files"},
    "ava": set(),
    "node": {"--test-reporter", "--test-reporter-destination", "--test-name-pattern"},
    "bun": {"--reporter", "--reporter-outfile", "--coverage-reporter", "--coverage-dir"},
    "borp": {"--reporter", "-r", "--concurrency", "-c", "--timeout", "-t", "--post-compile", "-P", "--pattern", "-p"},
}
"""Dropped options whose value is the next word."""


def plain_arguments(tool: str, words: Sequence[str]) -> list[str]:
    """What is left of the words for our own start of the tool."""
    words = [word for number, word in enumerate(words) if not (tool == "vitest" and number == 0 and word in _VERBS)]
    return list(_kept(tool, words))


_VERBS = frozenset({"run", "watch", "dev"})


def _kept(tool: str, words: Sequence[str]) -> Iterator[str]:
    dropped = re.compile(rf"^(?:{_DROPPED[tool]})")
    skip = False
    for number, word in enumerate(words):
        if skip:
            skip = False
            continue
        if re.match(r"^(\d*>|<|2>&1)", word):
            return
        if word.startswith("-") and dropped.match(word):
            following = words[number + 1] if number + 1 < len(words) else "-"
            skip = word in _VALUED[tool] and not following.startswith("-")
        elif word != "--":
            yield word
