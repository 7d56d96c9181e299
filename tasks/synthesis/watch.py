"""Which tests of a verifier tests that must fail watch over, one by one. pytest's are watched over all together.

A JavaScript test: its file has sentinels. A C or C++ test: it fails with the inverted `main`, or a source with sentinels
declares it. What a script or a program says whose `main` is in no test file is watched over by nothing.
"""

import posixpath
import re
from collections.abc import Iterable

from blocks.vectors import StateComparison
from tasks.synthesis.suite import Suite

_NAME = re.compile(r"[A-Za-z_]\w*")
_PAIR = re.compile(r"\b(?:TEST|TYPED_TEST)\w{0,20}[ \t]{0,20}\(\s{0,20}(\w{1,200}),\s{0,20}(\w{1,200})")
_TITLE = re.compile(r"\b(?:TEST_CASE|SCENARIO)\w{0,40}[ \t]{0,20}\([^\"\n]{0,200}\"([^\"\n]{1,300})\"")


def unwatched(suite: Suite) -> tuple[str, ...]:
    """Fail-to-pass tests for which no test that must fail stands."""
    spec = suite.spec
    if spec.runner == "pytest":
        return ()
    if spec.runner == "node":
        return tuple(test for test in spec.fail_to_pass if not _has_sentinels(suite, test.split("::", 1)[0]))
    texts = [_text(suite, path) for path in spec.sentinel_files]
    pairs = {(first, second) for text in texts for first, second in _PAIR.findall(text)}
    titles = {title for text in texts for title in _TITLE.findall(text)}
    known = set(spec.must_fail)
    return tuple(test for test in spec.fail_to_pass if test not in known and not _is_declared(test, pairs, titles))


def without(wanted: StateComparison, tests: Iterable[str]) -> StateComparison:
    """The sets of tests without these."""
    gone = set(tests)
    return StateComparison(
        fail_to_pass=tuple(test for test in wanted.fail_to_pass if test not in gone),
        pass_to_pass=tuple(test for test in wanted.pass_to_pass if test not in gone),
        pass_to_fail=wanted.pass_to_fail,
    )


def _has_sentinels(suite: Suite, path: str) -> bool:
    """Of a file that the build makes: whether the test file of its name has."""
    spec = suite.spec
    if path in spec.hidden or path in spec.base:
        return path in spec.sentinel_files
    return _stem(path) in {_stem(file) for file in spec.sentinel_files}


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _is_declared(test: str, pairs: set[tuple[str, str]], titles: set[str]) -> bool:
    case = test.rpartition("::")[2]
    names = _NAME.findall(case)
    return any((first, second) in pairs for first in names for second in names) or any(
        title in case for title in titles
    )


def _text(suite: Suite, path: str) -> str:
    file = suite.tests.get(f"hidden/{path}") or suite.tests.get(f"base/{path}")
    return file.content.decode("utf-8", "replace") if file else ""
