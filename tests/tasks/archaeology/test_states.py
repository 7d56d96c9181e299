"""Carrying an outcome onto the start tree: what lies between the two is no part of the solution."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.trees import File
from tasks.archaeology.states import MergeConflictError, build_states, carry, changed, merge_file
from tests.trees import tree

LINES = [f"line {number}\n" for number in range(12)]
TEXT = "".join(LINES)
TOP = TEXT.replace("line 1\n", "top\n")
BOTTOM = TEXT.replace("line 10\n", "bottom\n")
BOTH = TOP.replace("line 10\n", "bottom\n")


def test_a_clean_outcome() -> None:
    start = tree({"a.py": "1", "b.py": "2", "tests/test_a.py": "old", "tests/test_gone.py": "x"})
    end = tree({"a.py": "3", "c.py": "4", "tests/test_a.py": "new", "tests/data.json": "{}"})
    states = build_states(start, start, end)
    assert states.carried
    assert states.solution == end
    assert states.hidden == tree({"tests/test_a.py": "new", "tests/data.json": "{}"})
    assert states.removed_tests == ("tests/test_gone.py",)
    first = states.with_tests(states.start)
    assert first == tree({"a.py": "1", "b.py": "2", "tests/test_a.py": "new", "tests/data.json": "{}"})


def test_a_moved_pin_is_part_of_the_solution_and_hides_only_what_lies_below_the_projects_tests() -> None:
    start = tree(
        {"a.py": "1", "extern/leaf/test_leaf.py": "old", "tests/cases/case.toml": "old", "extern/leaf/x.py": "1"}
    )
    end = tree(
        {"a.py": "1", "extern/leaf/test_leaf.py": "new", "tests/cases/case.toml": "new", "extern/leaf/x.py": "2"}
    )
    states = build_states(start, start, end, ("extern/leaf", "tests/cases"))
    assert states.carried and states.solution == end
    assert states.hidden == tree({"tests/cases/case.toml": "new"})
    assert states.with_tests(states.start)["extern/leaf/test_leaf.py"].content == b"old"


def test_what_landed_in_between_stays_out() -> None:
    start = tree({"a.py": TEXT, "tests/test_a.py": "old"})
    parent = tree({"a.py": BOTTOM, "feature.py": "x", "tests/test_a.py": "old", "tests/test_feature.py": "x"})
    end = tree({"a.py": BOTH, "feature.py": "x", "tests/test_a.py": "new", "tests/test_feature.py": "x"})
    states = build_states(start, parent, end)
    assert states.carried
    assert states.solution == tree({"a.py": TOP, "tests/test_a.py": "new"})
    assert states.hidden == tree({"tests/test_a.py": "new"})


@pytest.mark.parametrize(
    ("start", "parent", "end"),
    [
        ({"a.py": TEXT}, {"a.py": TOP}, {"a.py": TOP.replace("top", "other")}),
        ({}, {"a.py": TEXT}, {"a.py": TOP}),
        ({"a.py": TEXT}, {"a.py": TOP}, {}),
        ({"a.py": "mine"}, {}, {"a.py": "theirs"}),
        ({"a.bin": b"\0a1"}, {"a.bin": b"\0b1"}, {"a.bin": b"\0b2"}),
    ],
    ids=["same place", "made in between", "changed in between, then deleted", "made on both sides", "binary"],
)
def test_a_conflict_makes_the_whole_end_the_solution(
    start: dict[str, str], parent: dict[str, str], end: dict[str, str]
) -> None:
    rest = {"between.py": "x"}
    with pytest.raises(MergeConflictError, match=r"^a\."):
        carry(tree(start), tree(parent), changed(tree(parent), tree(end)))
    states = build_states(tree(start), tree({**parent, **rest}), tree({**end, **rest}))
    assert not states.carried
    assert states.solution == tree({**end, **rest})


def test_what_is_there_already_is_no_conflict() -> None:
    start, parent, end = tree({"a.py": "new"}), tree({"a.py": "old", "b.py": "x"}), tree({"a.py": "new"})
    assert carry(start, parent, changed(parent, end)) == {}
    assert build_states(start, parent, end).solution == start


@pytest.mark.parametrize(
    ("ours", "base", "theirs", "result"),
    [
        (False, False, True, True),
        (True, True, False, False),
        (False, True, True, False),
        (True, False, False, True),
    ],
)
def test_modes_are_merged_like_lines(ours: bool, base: bool, theirs: bool, result: bool) -> None:
    start = {"run.sh": File(content=TEXT.encode(), executable=ours)}
    parent = {"run.sh": File(content=BOTTOM.encode(), executable=base)}
    end = {"run.sh": File(content=BOTH.encode(), executable=theirs)}
    assert carry(start, parent, changed(parent, end)) == {"run.sh": File(content=TOP.encode(), executable=result)}


def test_a_mode_alone_is_a_change() -> None:
    start, end = {"run.sh": File(content=b"x")}, {"run.sh": File(content=b"x", executable=True)}
    states = build_states(start, start, end)
    assert states.solution["run.sh"].executable


def test_links_are_taken_whole_or_not_at_all() -> None:
    link, other = {"a": File(link="b")}, {"a": File(link="c")}
    assert carry(link, link, changed(link, other)) == other
    with pytest.raises(MergeConflictError):
        carry({"a": File(content=b"x")}, link, changed(link, other))


def test_merging_reads_no_options_and_no_configuration() -> None:
    assert merge_file(TEXT.encode(), BOTTOM.encode(), TOP.encode()) == BOTH.encode()
    assert merge_file(b"a", b"b", b"c") is None
    assert merge_file(b"a\n", b"a\n", b"no newline at the end") == b"no newline at the end"


paths = st.sampled_from(["a.py", "b/c.py", "tests/test_a.py", "d.bin"])
trees = st.dictionaries(
    paths, st.builds(File, content=st.sampled_from([b"", b"1\n", b"2\n"]), executable=st.booleans())
)


@given(trees, trees)
def test_without_anything_in_between_the_solution_is_the_end(start: dict[str, File], end: dict[str, File]) -> None:
    states = build_states(start, start, end)
    assert states.carried and states.solution == end
    after = states.with_tests(states.start)
    tests = [path for path in {*start, *end} if path.startswith("tests/")]
    assert [after.get(path) for path in tests] == [end.get(path) for path in tests]
    assert {path for path in after if path not in tests} == {path for path in start if path not in tests}
