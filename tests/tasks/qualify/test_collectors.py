"""What the collectors find: hunks, follow-ups, the course of a session, the ledger's parts, the project, lists of benchmarks."""

import json
from pathlib import Path

import pytest

from blocks.errors import UsageError
from blocks.session import Command, Session
from blocks.settings import QualifySettings
from tasks.qualify.benchmarks import known_commits, read_source, write_list
from tasks.qualify.course import find_stuck, open_questions, specify
from tasks.qualify.demands import Demand, read_needs
from tasks.qualify.journey import qualify_journey
from tasks.qualify.ledger import requirements_of
from tasks.qualify.mechanical import mechanical
from tasks.qualify.outcome import qualify_outcome
from tasks.qualify.substance import read_substance
from tasks.qualify.verdict import Instruction
from tests.tasks.qualify.kettle import BASE, FIX, FIX_MESSAGE, FIXED_BOILER, IDENTITY, TIMER, Kettle, prompt_session
from tests.tasks.qualify.labelled.scene import ran, swap, turns

START = "0" * 40


@pytest.mark.slow
def test_the_outcome_says_which_hunks_came_along_and_what_followed(kettle: Kettle) -> None:
    files = {
        **FIX,
        "kettle/timer.py": TIMER.replace('"""Steeping times."""', '"""Times for steeping."""'),
        "kettle/__init__.py": '__version__ = "1.1"\n',
        "CHANGELOG.md": "- whistle at the limit\n",
    }
    fix = kettle.history.commit(files, FIX_MESSAGE, day=5)
    again = FIXED_BOILER.replace("        return False\n", "        return bool(0)\n")
    later = kettle.history.commit({"kettle/boiler.py": again}, f"After {fix[:9]}: plainer", day=8)
    verdict = qualify_outcome(prompt_session(kettle.start), kettle.open(), QualifySettings())
    evidence = json.loads(verdict.evidence)
    assert verdict.outcomes[0].commit == fix
    belongs = {(part["path"], part["belongs"]) for part in evidence["parts"]}
    assert belongs == {
        ("kettle/boiler.py", True),
        ("tests/test_boiler.py", True),
        ("kettle/timer.py", False),
        ("kettle/__init__.py", False),
        ("CHANGELOG.md", False),
    }
    assert [(one["commit"], one["why"]) for one in evidence["follow_ups"]] == [(later, "names it")]
    assert evidence["authorship"] == {"same_as_start": True, "commits_before": 2}


def _ledger(kettle: Kettle) -> Session:
    return turns(
        kettle.start,
        "boil(1, 20) returns 167 seconds, it should return an integer. Don't change the public API.",
        "run the tests",
        "it must never be negative",
        identity=IDENTITY,
    )


@pytest.mark.slow
def test_the_ledger_has_surfaces_examples_and_what_the_tests_hold(kettle: Kettle) -> None:
    verdict = qualify_journey(_ledger(kettle), kettle.open(), QualifySettings())
    items = {item.quote: item for item in verdict.requirements}
    first = items["boil(1, 20) returns 167 seconds, it should return an integer."]
    assert (first.surface, first.kind, first.added) == ("call:boil", "explicit", False)
    assert first.positive == "should return an integer"
    assert items["Don't change the public API."].kind == "regression"
    held = next(item for item in verdict.requirements if item.precedent)
    assert (held.precedent, held.quote, held.kind) == (
        "tests/test_boiler.py:5",
        "assert boil(0, 20) == 0",
        "regression",
    )
    session = _ledger(kettle)
    for item in verdict.requirements:
        texts = BASE["tests/test_boiler.py"] if item.precedent else session.steps[item.turn].text
        assert item.quote in texts
        assert item.positive is None or item.positive in texts
        assert item.negative is None or item.negative in texts
    instruction = verdict.instruction
    assert instruction is not None and instruction.verbatim == session.prompt
    assert [(one.turn, one.text) for one in instruction.additions] == [(4, "it must never be negative")]
    assert instruction.specified.endswith("Added later:\n- [turn 4] it must never be negative\n")
    assert Instruction(verbatim="only this").specified == "only this"


def test_being_stuck_is_seen_and_who_helped() -> None:
    session = turns(START, "make the suite pass again", "look at the limit", identity=IDENTITY)
    failing = tuple(Command(step=1, command="pytest -q", output="1 failed") for _ in range(3))
    fine = Command(step=3, command="pytest  -q", output="9 passed, 0 failed")
    stuck = find_stuck(session.model_copy(update={"commands": (*failing, fine)}))
    assert [(one.what, one.unstuck_step, one.unstuck_by) for one in stuck] == [("pytest -q failed 3 times", 3, "user")]
    never = find_stuck(session.model_copy(update={"commands": failing}))
    assert [(one.unstuck_step, one.unstuck_by) for one in never] == [(None, "nothing")]
    edits = tuple(swap("a.py", "x", "y", step=1) for _ in range(4))
    assert [one.what for one in find_stuck(session.model_copy(update={"edits": edits}))] == [
        "a.py was edited 4 times in a row"
    ]
    assert find_stuck(ran(session, ("ls", "README.md"))) == ()


def test_open_questions() -> None:
    vague = prompt_session(START, "The steeping should somehow be better, etc. Is that hard?")
    asked = " ".join(open_questions(vague, requirements_of(vague)))
    assert "'better'" in asked and "'somehow'" in asked and "question mark" in asked and "where does it show" in asked
    clear = prompt_session(START, "steep('white') raises KeyError, it should return 3 minutes.")
    assert open_questions(clear, requirements_of(clear)) == ()
    assert specify(clear, requirements_of(clear)).additions == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("[pre-commit.ci] auto fixes from pre-commit.com hooks", True),
        ("Bump whistle from 1.0 to 2.0", True),
        ("chore(deps): bump whistle from 1 to 2", True),
        ("Apply black", True),
        ("style: sort imports", True),
        ("v1.2.3", True),
        ("Fix style() with black as a colour", False),
        ("Update the limit from the pressure of the day", False),
        ("Format durations that go over midnight", False),
        ("Release the valve when the pressure is too high", False),
    ],
)
def test_commits_of_tools_are_told_from_commits_of_people(subject: str, expected: bool, kettle: Kettle) -> None:
    sha = kettle.history.commit({"kettle/timer.py": TIMER + "X = 1\n"}, subject, day=5)
    assert (mechanical(kettle.open().commit(sha)) is not None) is expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ('"{} of {}".format(a, b)', 'f"{a} of {b}"', True),
        ('"{1} of {0}".format(a, b)', 'f"{b} of {a}"', True),
        ('"%s of %s" % (a, b)', 'f"{a} of {b}"', True),
        ('"{} of {}".format(a, b)', 'f"{b} of {a}"', False),
        ('"{:d} of {}".format(a, b)', 'f"{a} of {b}"', False),
        ('"%s" % a', 'f"{a}"', True),
        ('"%d" % a', 'f"{a}"', False),
    ],
)
def test_strings_that_mean_the_same(before: str, after: str, same: bool, kettle: Kettle) -> None:
    kettle.history.commit({"kettle/label.py": f"def label(a, b):\n    return {before}\n"}, "Label", day=4)
    sha = kettle.history.commit({"kettle/label.py": f"def label(a, b):\n    return {after}\n"}, "Label again", day=5)
    assert read_substance(kettle.open(), sha).formatting_only is same


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "content", "demand"),
    [
        ("app.js", "import Stripe from 'stripe';\n", Demand.SERVICE),
        ("app.js", "const aws = require('aws-sdk');\n", Demand.SERVICE),
        ("main.c", "#include <gtk/gtk.h>\n", Demand.SCREEN),
        ("firmware/main.c", "int x;\n", Demand.DEVICE),
        ("a.py", "import os, winreg\n", Demand.SYSTEM),
        ("a.py", "r = requests.get('https://api.vendor.com/v1')\n", Demand.SERVICE),
        ("a.py", "from serialize import dump\nimport boards\nimport wxyz\n", None),
        ("a.py", "x = 'import tkinter'\nr = requests.get('http://localhost:80')\n", None),
        ("a.js", "import usable from './stripe-like';\n", None),
    ],
)
def test_demands_are_read_off_imports_paths_and_lines(
    path: str, content: str, demand: Demand | None, kettle: Kettle
) -> None:
    sha = kettle.history.commit({path: content}, "Something", day=5)
    found = [need.demand for need in read_needs(kettle.open(), sha).found]
    assert found == ([demand] if demand else [])


def test_lists_of_benchmarks_are_made_from_rows_and_from_folders(tmp_path: Path) -> None:
    one, two, three = "a" * 40, "b" * 40, "c" * 40
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"repo": "Tea/Kettle", "base_commit": one}) + "\n" + json.dumps({"repo": "x"}) + "\n")
    task = tmp_path / "tasks" / "instance_tea__kettle-" / "environment"
    named = tmp_path / "tasks" / f"instance_tea__kettle-{two}-vnan"
    for folder in (task, named):
        folder.mkdir(parents=True)
    (task / "Dockerfile").write_text(
        f"RUN git clone https://github.com/tea/kettle.git . && \\\n    git checkout {three}\n"
    )
    (named / "Dockerfile").write_text("FROM base_tea__kettle\n")
    lists = tmp_path / "lists"
    write_list("rows", read_source(rows), "rows", lists)
    write_list("tasks", read_source(tmp_path / "tasks"), "tasks", lists)
    assert known_commits("https://github.com/tea/Kettle", lists) == {one: ("rows",), two: ("tasks",), three: ("tasks",)}
    assert known_commits("https://github.com/tea/other", lists) == {}
    with pytest.raises(UsageError, match="names a repository"):
        read_source(lists)
    with pytest.raises(UsageError, match="small letters"):
        write_list("../x", set(), "", lists)


def test_the_lists_that_ship_are_read() -> None:
    found = known_commits("https://github.com/dotimplement/HealthChain")
    assert found == {"eaac9b9f07f784e99dd7c4774e235c633a5f665f": ("cline-bench",)}
    assert len(known_commits("https://github.com/NodeBB/NodeBB")) > 40
