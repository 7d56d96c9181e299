"""Hunks: each one taken back alone, and which of them need no test."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.trees import File, overlay
from tasks.synthesis.hunks import Hunk, hunks
from tests.trees import tree

LINES = [f"x{number} = {number}\n" for number in range(30)]


def texts(found: list[Hunk]) -> list[tuple[str, str | None]]:
    return [(hunk.name, hunk.without.content.decode() if hunk.without else None) for hunk in found]


def changed(**lines: str) -> str:
    """LINES with some replaced: n4="..." ."""
    now = list(LINES)
    for name, line in lines.items():
        now[int(name[1:])] = line
    return "".join(now)


def test_each_hunk_is_taken_back_alone() -> None:
    before, after = "".join(LINES), changed(n2="a = 1\n", n15="", n27="b = 2\nc = 3\n")
    found = hunks(tree({"m.py": before}), tree({"m.py": after}), ("m.py",))
    assert texts(found) == [
        ("m.py:3", changed(n15="", n27="b = 2\nc = 3\n")),
        ("m.py:16", changed(n2="a = 1\n", n27="b = 2\nc = 3\n")),
        ("m.py:27", changed(n2="a = 1\n", n15="")),
    ]
    assert all(hunk.required for hunk in found)


def test_changes_close_together_are_one_hunk() -> None:
    start, end = tree({"m.py": "".join(LINES)}), tree({"m.py": changed(n2="a = 1\n", n5="b = 1\n")})
    assert texts(hunks(start, end, ("m.py",))) == [("m.py:3", "".join(LINES))]
    far = tree({"m.py": changed(n2="a = 1\n", n8="b = 1\n")})
    assert len(hunks(start, far, ("m.py",))) == 2


def test_files_added_deleted_and_moved_are_whole_hunks() -> None:
    start, end = tree({"old.py": "a = 1\n", "same.py": "x"}), tree({"new.py": "a = 1\n", "same.py": "x"})
    found = hunks(start, end, ("new.py", "old.py", "same.py"))
    assert texts(found) == [("new.py:1", None), ("old.py:1", "a = 1\n")]
    assert all(hunk.required for hunk in found)


def test_no_newline_at_the_end() -> None:
    for before, after in (
        ("a = 1\nb = 2", "a = 1\nb = 3"),
        ("a = 1", "a = 1\nb = 2"),
        ("a = 1\nb = 2\n", "a = 1\nb = 2"),
    ):
        found = hunks(tree({"m.py": before}), tree({"m.py": after}), ("m.py",))
        assert [hunk.without for hunk in found] == [File(content=before.encode())]


@pytest.mark.parametrize(
    ("before", "after", "required"),
    [
        ("a = 1\n", "a = 1  # why\n", False),
        ("a = 1\n", "# why\n\na = (1)\n", False),
        ('def f():\n    """Old."""\n    return 1\n', 'def f():\n    """New."""\n    return 1\n', False),
        ("def f():\n    return 1\n", 'def f():\n    """New."""\n    return 1\n', False),
        ("class A:\n    x = 1\n", 'class A:\n    """New."""\n\n    x = 1\n', False),
        ("a = 1\n", '"""Module."""\n\na = 1\n', False),
        ("a = 'x'\n", "a = 'y'\n", True),
        ("def f():\n    return 1\n", "def f():\n    'doc'\n    'more'\n    return 1\n", True),
        ("a = 1\n", "a = 1\nb = (\n", True),
        ("a = 1\n", "a = 1\0\n", True),
    ],
)
def test_what_changes_no_behaviour_needs_no_test(before: str, after: str, required: bool) -> None:
    (found,) = hunks(tree({"m.py": before}), tree({"m.py": after}), ("m.py",))
    assert found.required is required


def test_other_files_are_always_required() -> None:
    (found,) = hunks(tree({"m.txt": "a\n"}), tree({"m.txt": "# a\n"}), ("m.txt",))
    assert found.required


def test_modes_links_and_binaries() -> None:
    start = {"run.sh": File(content=b"x\n"), "link": File(link="a"), "b.bin": File(content=b"\0a\n\0b\n")}
    end = {
        "run.sh": File(content=b"x\n", executable=True),
        "link": File(link="b"),
        "b.bin": File(content=b"\0a\n\0c\n"),
    }
    found = hunks(start, end, tuple(start))
    assert {hunk.path: hunk.without for hunk in found} == start


line = st.sampled_from(["a = 1\n", "b = 2\n", "\n", "# c\n", "d = 4\r\n", "e = '\x0c\u2028'\n", "f = 5\x85"])
content = st.tuples(st.lists(line, max_size=14), st.sampled_from([b"", b"end", b"\xff\xfe\n"])).map(
    lambda parts: File(content="".join(parts[0]).encode() + parts[1])
)


@given(content, content)
def test_taking_back_every_hunk_gives_the_start(before: File, after: File) -> None:
    """One after the other, always the last one that is left: what remains is the start's file, byte for byte."""
    start, current = {"m.py": before}, {"m.py": after}
    found = hunks(start, current, ("m.py",))
    assert (found == []) == (before == after)
    if len(found) == 1:
        assert overlay(current, {"m.py": found[0].without}) == start
    assert len({hunk.without for hunk in found} | {after}) == len(found) + (1 if found or before == after else 0)
    while current != start:
        last = hunks(start, current, ("m.py",))[-1]
        current = overlay(current, {"m.py": last.without})


@given(content, content)
def test_not_required_means_the_same_syntax_tree(before: File, after: File) -> None:
    for hunk in hunks({"m.py": before}, {"m.py": after}, ("m.py",)):
        if not hunk.required and hunk.without:
            assert ast.dump(ast.parse(hunk.without.content)) == ast.dump(ast.parse(after.content))
