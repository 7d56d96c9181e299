"""Tests that must fail, written into the test files themselves: for tools that choose their files by name.

They stand at the end of the file and use what the file has in scope, so that code which bends the tool's own functions
or the comparisons bends them too. Their names are random; an id that holds one is theirs. Where a file gives none
(nothing is known of how it tests), synthesis leaves it out of `sentinel_files`, and the card's message counts that.

A plain C or C++ program has no tests to add: its `main` is put aside and another says that it failed (`inverted`). The
whole build is made and run so, beside the real run: code that ends a program well whatever its `main` says shows there.
"""

from __future__ import annotations

import re
import secrets

_SCRIPT = re.compile(r"\.[cm]?[jt]sx?$")
_NATIVE = re.compile(r"\.(c|cc|cpp|cxx|c\+\+)$", re.I)
_GTEST = re.compile(r"^[^\S\n]*(TEST|TEST_F|TEST_P|TYPED_TEST)\s*\(", re.M)
_CASES = re.compile(r"^[^\S\n]*(TEST_CASE|SCENARIO|TEST_CASE_FIXTURE|TEST_CASE_METHOD)\s*\(", re.M)
_MAIN = re.compile(r"\bmain[ \t]*\(")
_BEFORE = re.compile(r"[\w\"* \t]*")
_ENDS = re.compile(r"[;{}]")
_MOST_WORDS, _LONGEST_BEFORE, _LONGEST_PARAMETERS, _LONGEST_BETWEEN = 6, 400, 400, 200
_ASSERT_HEADER = re.compile(r"^[^\S\n]*#\s*include\s*[<\"](?:cassert|assert\.h)[>\"]", re.M)

_SCRIPT_TESTS = (
    'throw new Error("{0}")',
    'if (typeof expect === "function") expect(1).toBe(2); else throw new Error("{0}")',
    'if (typeof assert === "function" && assert.strictEqual) assert.strictEqual(1, 2); else throw new Error("{0}")',
)
_GTEST_TESTS = ("EXPECT_EQ(1, 2)", "EXPECT_TRUE(false)", "ASSERT_NE(1, 1)", "FAIL()")
_CASE_TESTS = ("CHECK(1 == 2)", "REQUIRE(1 == 2)", "CHECK_FALSE(1 == 1)")


def script_plant(path: str, text: str) -> tuple[str, frozenset[str]] | None:
    """A JavaScript or TypeScript test file with tests that must fail, and their names; None for any other file."""
    if not _SCRIPT.search(path):
        return None
    tests = {_name(): body for body in _SCRIPT_TESTS}
    lines = [text, ""]
    for name, body in tests.items():
        what = f'"{name}", () => {{ {body.format(name)} }}'
        for function in ("it", "test"):
            other = ' && typeof it !== "function"' if function == "test" else ""
            lines += ["// @ts-ignore", f';if (typeof {function} === "function"{other}) {function}({what});']
    return "\n".join([*lines, ""]), frozenset(tests)


def native_plant(path: str, text: str) -> tuple[str, frozenset[str]] | None:
    """A test source of GoogleTest, Catch2 or doctest with tests that must fail; None for any other file."""
    if not _NATIVE.search(path):
        return None
    if _GTEST.search(text):
        tests = {_name(): body for body in _GTEST_TESTS}
        added = [f"TEST({name}, Holds) {{ {body}; }}" for name, body in tests.items()]
    elif _CASES.search(text):
        tests = {_name(): body for body in _CASE_TESTS}
        added = [f'TEST_CASE("{name}") {{ {body}; }}' for name, body in tests.items()]
    else:
        return None
    return "\n".join([text, *added, ""]), frozenset(tests)


def inverted(path: str, text: str) -> str | None:
    """The source of a plain test program whose `main` says that it failed; None where it has none.

    By assert() where the file has it: a header that takes assert() away is told too.
    """
    if not _NATIVE.search(path) or _GTEST.search(text) or _CASES.search(text) or not _defines_main(text):
        return None
    aside = _name()
    body = "assert(1 == 2); return 0;" if _ASSERT_HEADER.search(text) else "return 1;"
    return f"#define main {aside}\n{text}\n#undef main\nint main(void) {{ {body} }}\n"


def plants_in(runner: str, path: str, text: str) -> bool:
    """Whether a file of this runner can hold tests that must fail."""
    plant = script_plant if runner == "node" else native_plant
    return plant(path, text) is not None


def _defines_main(text: str) -> bool:
    """Whether a `main` is defined: also of GNU's form, with its type on the line before, or with a macro among the words.

    In time that grows with the length of the text alone: it is a stranger's.
    """
    return any(_is_declared(text, found.start()) and _has_body(text, found.end()) for found in _MAIN.finditer(text))


def _is_declared(text: str, at: int) -> bool:
    """Whether what stands before it on its line is a type and the like, or nothing."""
    start = text.rfind("\n", max(0, at - _LONGEST_BEFORE - 1), at) + 1
    if start == 0 and at > _LONGEST_BEFORE:
        return False
    before = text[start:at]
    words = re.split(r"[ \t*]+", before.strip(" \t*"))
    is_plain = _BEFORE.fullmatch(before) is not None and before[-1:] in ("", " ", "\t", "*")
    return is_plain and len(words) <= _MOST_WORDS and not {"return", "else"} & set(words)


def _has_body(text: str, at: int) -> bool:
    """Whether parameters, their end and a brace follow; `at`: behind the opening parenthesis."""
    end = _ENDS.search(text, at, at + _LONGEST_PARAMETERS + _LONGEST_BETWEEN + 2)
    if end is None or end[0] != "{":
        return False
    close = text.rfind(")", at, min(end.start(), at + _LONGEST_PARAMETERS + 1))
    return close >= 0 and end.start() - close - 1 <= _LONGEST_BETWEEN


def _name() -> str:
    """A letter first: it has to be a name in C too."""
    return "S" + secrets.token_hex(8)
