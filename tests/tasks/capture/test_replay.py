"""Replay of a session's edits: as the tool applied them, and nothing outside the workspace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.session import Edit, EditKind, Replacement
from blocks.trees import File, misplaced
from tasks.capture.replay import replay
from tasks.capture.search_replace import apply_blocks
from tests.trees import tree

TEXT = "def a():\n    x = 1\n    return x\n\n\ndef b():\n    x = 1\n    return x\n"


def blocks(*pairs: tuple[str, str]) -> list[Replacement]:
    return [Replacement(search=search, replace=replacement) for search, replacement in pairs]


def edit(path: str, *pairs: tuple[str, str], kind: EditKind = EditKind.REPLACE, **more: object) -> Edit:
    return Edit.model_validate({"step": 3, "kind": kind, "path": path, "replacements": blocks(*pairs), **more})


def test_exact_text_beats_lines() -> None:
    assert apply_blocks("  a = 1\na = 1\n", blocks(("a = 1\n", "b = 2\n"))) == "  b = 2\na = 1\n"


def test_white_space_at_the_ends_of_lines_is_ignored() -> None:
    found = apply_blocks(TEXT, blocks(("x = 1\nreturn x\n", "    return 2\n")))
    assert found == TEXT.replace("    x = 1\n    return x\n", "    return 2\n", 1)
    crlf = "a = 1\r\nb = 2\r\n"
    assert apply_blocks(crlf, blocks(("a = 1\nb = 2\n", "c = 3\n"))) == "c = 3\n"
    assert apply_blocks("a\nb", blocks(("  b\n", "c\n"))) == "a\nc\n"


def test_a_block_with_the_same_first_and_last_line() -> None:
    assert apply_blocks("f(\n  one,\n)\nrest\n", blocks(("f(\n  two,\n)\n", "g()\n"))) == "g()\nrest\n"
    with pytest.raises(LookupError):
        apply_blocks("f(\n)\n", blocks(("f(x\n)\n", "")))


def test_blocks_are_found_one_after_the_other_in_the_file_as_it_was() -> None:
    """The same SEARCH twice means the next place, and what a block wrote is not searched."""
    twice = apply_blocks(TEXT, blocks(("    x = 1\n", "    x = 1\n    y = 2\n"), ("    x = 1\n", "    z = 3\n")))
    assert twice == "def a():\n    x = 1\n    y = 2\n    return x\n\n\ndef b():\n    z = 3\n    return x\n"
    with pytest.raises(LookupError):
        apply_blocks("a\n", blocks(("a\n", "b\n"), ("b\n", "c\n")))


def test_blocks_out_of_order() -> None:
    found = apply_blocks("one\ntwo\nthree\n", blocks(("three\n", "3\n"), ("one\n", "1\n")))
    assert found == "1\ntwo\n3\n"
    with pytest.raises(LookupError, match="overlap"):
        apply_blocks("one\ntwo\n", blocks(("two\n", "2\n"), ("one\ntwo\n", "1\n")))


def test_an_empty_search_is_the_whole_file() -> None:
    assert apply_blocks("", blocks(("", "new\n"))) == "new\n"
    assert apply_blocks("old\n", blocks(("", "new\n"))) == "new\n"


def test_a_whole_session() -> None:
    start = {**tree({"a.py": "one\n", "b.py": "two\n", "gone.py": "x"}), "run.sh": File(content=b"1", executable=True)}
    done = replay(
        start,
        [
            edit("a.py", ("one\n", "1\n")),
            edit("a.py", ("one\n", "never\n")),
            edit("a.py", ("1\n", "2\n")),
            edit("b.py", ("two\n", "denied\n"), accepted=False),
            edit("b.py", ("two\n", "half\n"), ("not there", "x")),
            edit("new/file.py", kind=EditKind.WRITE, content="ü\n"),
            edit("run.sh", kind=EditKind.WRITE, content="2"),
            edit("gone.py", kind=EditKind.DELETE),
            edit("missing.py", ("a", "b")),
        ],
    )
    assert done.workspace == {
        **tree({"a.py": "2\n", "b.py": "two\n", "new/file.py": "ü\n"}),
        "run.sh": File(content=b"2", executable=True),
    }
    assert done.applied == 5
    assert done.failed == (
        "step 3: a.py: a SEARCH block is not in the file",
        "step 3: b.py: a SEARCH block is not in the file",
        "step 3: missing.py: is not in the workspace",
    )
    assert start["a.py"].content == b"one\n", "the start tree is not touched"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../out.py", "plain relative path"),
        ("/etc/passwd", "plain relative path"),
        ("a/../../out", "plain relative path"),
        (".git/hooks/pre-commit", "Git folder"),
        ("link", "is a link"),
        ("link/x.py", "below a file or a link"),
        ("a.py/x.py", "below a file or a link"),
        ("folder", "is a folder"),
    ],
)
@pytest.mark.parametrize("kind", [EditKind.WRITE, EditKind.REPLACE, EditKind.DELETE])
def test_no_edit_leaves_the_workspace(path: str, why: str, kind: EditKind) -> None:
    start = {**tree({"a.py": "x", "folder/b.py": "y"}), "link": File(link="folder")}
    done = replay(start, [edit(path, ("x", "y"), kind=kind, content="evil")])
    assert done.workspace == start
    assert done.applied == 0
    assert why in done.failed[0]


def test_bytes_that_are_no_text_survive() -> None:
    done = replay(tree({"a.bin": b"\xff one \x0c\r\n two"}), [edit("a.bin", ("one", "1"))])
    assert done.workspace == tree({"a.bin": b"\xff 1 \x0c\r\n two"})
    lone = replay({}, [edit("a", kind=EditKind.WRITE, content="\ud83d!")])
    assert lone.workspace == tree({"a": "\ufffd!"})


lines = st.lists(st.sampled_from(["a\n", " a\n", "b\n", "\n", "c"]), max_size=6).map("".join)


@given(lines, st.lists(st.tuples(lines, lines), max_size=3))
def test_blocks_give_a_text_or_are_not_found(text: str, pairs: list[tuple[str, str]]) -> None:
    try:
        found = apply_blocks(text, blocks(*pairs))
    except LookupError:
        assert pairs
        return
    assert len(found) <= len(text) + sum(len(new) for _, new in pairs)


edits = st.lists(
    st.builds(
        edit,
        st.sampled_from(["a", "a/b", "a/b/c", "d", "..", "e/../f"]),
        kind=st.sampled_from(list(EditKind)),
        content=st.sampled_from(["", "x", None]),
    ),
    max_size=6,
)


@given(edits)
def test_what_a_session_leaves_is_always_a_tree(session: list[Edit]) -> None:
    done = replay({"d": File(link="a")}, session)
    assert not misplaced(done.workspace)
    assert done.applied + len(done.failed) == len(session)
