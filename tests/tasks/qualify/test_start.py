"""Where a candidate starts: what the user had not committed, and what stands in for a commit that cannot be had."""

from datetime import UTC, datetime, timedelta

import pytest

from blocks.records import Decision, Qualifier, ReasonCode
from blocks.repositories import Repository, Way
from blocks.session import Command, Session, ToolCall
from blocks.settings import QualifySettings
from blocks.start import Start, recovered_files
from tasks.qualify.aggregate import qualify
from tasks.qualify.harmless import only_reads
from tasks.qualify.origin import qualify_origin
from tasks.qualify.start import find_start, nearest_base, placed
from tests.history import DAY, EPOCH
from tests.tasks.qualify.kettle import (
    BASE,
    BOILER,
    FIXED_BOILER,
    IDENTITY,
    TIMER,
    Kettle,
    agent_session,
    prompt_session,
)

pytestmark = pytest.mark.slow

SETTINGS = QualifySettings()
BLACK = TIMER.replace('"black": 4', '"black": 3')
WIP = BLACK.replace("Minutes", "Whole minutes")
GONE = "f" * 40


def opened(kettle: Kettle, start: str) -> Repository:
    return kettle.cache.open(IDENTITY, commit=start)


def began(session: Session, day: float) -> Session:
    return session.model_copy(update={"started_at": datetime.fromtimestamp(EPOCH, UTC) + timedelta(seconds=day * DAY)})


def started(session: Session, kettle: Kettle) -> Start:
    found = find_start(session, opened(kettle, session.start_commit))
    assert found.start is not None, found.why
    return found.start


def test_uncommitted_files_that_the_session_shows_become_part_of_the_start(kettle: Kettle) -> None:
    seen = (("kettle/boiler.py", BOILER), ("kettle/timer.py", WIP), ("repro.py", "import kettle"))
    session = agent_session(kettle.start, seen=seen)
    start = started(session, kettle)
    assert [one.path for one in start.recovered] == ["kettle/timer.py", "repro.py"]
    assert (start.commit_fidelity, start.start_fidelity, start.is_exact) == (0.333, 1.0, True)
    base = opened(kettle, kettle.start).export(kettle.start)
    files = recovered_files(start, session, base)
    assert files["kettle/timer.py"].content.decode() == WIP
    assert files["repro.py"].content == b"import kettle\n"
    seen = (*seen, ("kettle/__init__.py", BASE["kettle/__init__.py"]), ("README.md", BASE["README.md"]))
    verdict = qualify_origin(agent_session(kettle.start, seen=seen), opened(kettle, kettle.start), SETTINGS)
    assert verdict.decision is Decision.PASS and "2 uncommitted files recovered" in verdict.message


def test_what_a_command_or_the_user_may_have_made_is_not_the_start(kettle: Kettle) -> None:
    seen = (("kettle/boiler.py", BOILER), ("kettle/timer.py", WIP), ("repro.py", "import kettle"))
    session = agent_session(kettle.start, seen=seen)
    for command, touched in (("sed -i s/4/3/ kettle/timer.py", True), ("git status | head -3", False)):
        ran = session.model_copy(update={"commands": (Command(step=1, command=command, output=""),)})
        start = started(ran, kettle)
        assert bool(start.recovered) is not touched, command
        if touched:
            assert start.start_fidelity == start.commit_fidelity == 0.5, "a file made later says nothing of the start"
    tool = ToolCall(call_id="1", name="use_mcp_tool", arguments="{}")
    steps = (session.steps[0], session.steps[1].model_copy(update={"tool_calls": (tool,)}), *session.steps[2:])
    assert started(session.model_copy(update={"steps": steps}), kettle).recovered == ()
    late = tuple(one.model_copy(update={"step": 3}) for one in session.seen_files)
    assert started(session.model_copy(update={"seen_files": late}), kettle).recovered == ()


def test_what_may_not_get_into_a_tree_is_not_recovered(kettle: Kettle) -> None:
    kettle.history.commit({".gitignore": "*.log\n.env\n", "data.bin": b"\0\1"}, "Ignore", day=4)
    seen = {
        "kettle/timer.py": WIP.replace("Steeping", "<user-1>"),
        "boil.log": "boiled\n",
        ".env": "KEY=1\n",
        "node_modules/x/index.js": "x\n",
        "../outside.py": "x\n",
        "kettle/boiler.py/below.py": "x\n",
        "data.bin": "text\n",
        ".git/config": "[core]\n",
    }
    whole = [
        (path, str(BASE[path])) for path in ("kettle/boiler.py", "pyproject.toml", "tests/test_boiler.py", "LICENSE")
    ]
    session = agent_session(kettle.history.tips["main"], seen=(*whole, *seen.items()))
    found = find_start(session, opened(kettle, session.start_commit))
    assert found.start is not None and found.start.recovered == ()
    assert {"boil.log", ".env", "node_modules/x/index.js"} == set(found.fidelity.aside)
    assert "kettle/timer.py" in found.fidelity.differing
    assert found.start.start_fidelity is not None and found.start.start_fidelity < 1


def test_line_ends_and_the_last_one_stay_as_they_were(kettle: Kettle) -> None:
    kettle.history.commit({"dos.py": "a = 1\r\nb = 2\r\n", "bare.py": "a = 1"}, "Line ends", day=4)
    session = agent_session(kettle.history.tips["main"], seen=(("dos.py", "a = 1\nb = 3"), ("bare.py", "a = 2\n")))
    start = started(session, kettle)
    files = recovered_files(start, session, opened(kettle, session.start_commit).export(session.start_commit))
    assert {path: file.content for path, file in files.items()} == {
        "dos.py": b"a = 1\r\nb = 3\r\n",
        "bare.py": b"a = 2",
    }


def test_a_commit_that_cannot_be_had_becomes_the_nearest_public_one_and_the_difference(kettle: Kettle) -> None:
    kettle.fix(day=20)
    local = BOILER.replace("2000", "1800")
    seen = (("kettle/boiler.py", local), ("kettle/timer.py", BLACK), ("README.md", "# kettle\n"))
    session = began(agent_session(GONE, seen=seen), 10)
    start = started(session, kettle)
    assert (start.base_commit, start.reach.way, start.commit) == (kettle.start, Way.NONE, GONE)
    assert [one.path for one in start.recovered] == ["kettle/boiler.py"]
    assert (start.commit_fidelity, start.start_fidelity) == (0.667, 1.0)
    verdict = qualify_origin(session, opened(kettle, GONE), SETTINGS)
    assert (verdict.decision, verdict.reason_code) == (Decision.UNSURE, ReasonCode.COMMIT_NOT_FOUND)
    assert "2 of 3 contents" in verdict.message
    # The others are asked about the stand-in: the outcome is found from there.
    verdicts = {one.qualifier: one for one in qualify(session, opened(kettle, GONE), SETTINGS)}
    assert verdicts[Qualifier.OUTCOME].outcomes[0].commit == kettle.history.tips["main"]
    assert placed(session, opened(kettle, GONE)).start_commit == kettle.start


def test_no_commit_younger_than_the_session_stands_in_for_its_start(kettle: Kettle) -> None:
    fix = kettle.fix(day=20)
    session = agent_session(GONE, seen=(("kettle/boiler.py", FIXED_BOILER), ("LICENSE", str(BASE["LICENSE"]))))
    before, after = began(session, 10), began(session, 30)
    base = nearest_base(before, opened(kettle, GONE))
    assert base is not None and (base.commit != fix, base.matching, base.checks) == (True, 1, 2)
    assert find_start(after, opened(kettle, GONE)).base is not None
    found = nearest_base(after, opened(kettle, GONE))
    assert found is not None and (found.commit, found.matching, found.equals) == (fix, 2, 1)


def test_of_equal_ones_the_newest_on_the_main_branch_is_taken(kettle: Kettle) -> None:
    kettle.history.commit({"x.py": "x"}, "A branch", day=8, branch="other", parents=[kettle.history.tips["main"]])
    session = began(agent_session(GONE), 10)
    base = nearest_base(session, opened(kettle, GONE))
    assert base is not None and base.commit == kettle.history.tips["main"] and base.equals > 3
    verdict = qualify_origin(session, opened(kettle, GONE), SETTINGS)
    assert (verdict.decision, verdict.confidence) == (Decision.PASS, 0.6), verdict.message


@pytest.mark.parametrize("kind", ["nothing seen", "no date", "nothing matches"])
def test_without_evidence_there_is_no_start(kettle: Kettle, kind: str) -> None:
    session = {
        "nothing seen": began(prompt_session(GONE), 10),
        "no date": agent_session(GONE),
        "nothing matches": began(agent_session(GONE, seen=(("kettle/boiler.py", "other\n"), ("x.py", "x"))), 10),
    }[kind]
    repository = opened(kettle, GONE)
    assert find_start(session, repository).start is None
    assert placed(session, repository) == session
    verdict = qualify_origin(session, repository, SETTINGS)
    assert (verdict.decision, verdict.reason_code, verdict.start) == (Decision.FAIL, ReasonCode.COMMIT_NOT_FOUND, None)


@pytest.mark.parametrize(
    ("command", "reads"),
    [
        ("ls -la && cat setup.py | head -5; pwd", True),
        ("git log --oneline -5 2>/dev/null", True),
        ("grep -rn 'a > b' src", False),
        ("rg boil 2>&1 | wc -l", True),
        ("find . -name '*.py'", True),
        ("find . -name '*.pyc' -delete", False),
        ("sed -n 1,20p a.py", True),
        ("sed -i s/a/b/ a.py", False),
        ("cat a.py > b.py", False),
        ("echo `rm a`", False),
        ("cat $(make)", False),
        ("git checkout main", False),
        ("git diff --output=x", False),
        ("sort -o a a", False),
        ("uniq a b", False),
        ("ls & rm a", False),
        ("ls &", False),
        ("python -m pytest", False),
        ("cat 'unclosed", False),
        ("", True),
    ],
)
def test_only_what_is_known_to_read_reads(command: str, reads: bool) -> None:
    assert only_reads(command) is reads
