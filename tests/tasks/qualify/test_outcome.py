import json

import pytest

from blocks.records import Decision, ReasonCode
from blocks.session import Session
from blocks.settings import QualifySettings
from tasks.qualify.outcome import qualify_outcome
from tasks.qualify.verdict import Verdict
from tests.tasks.qualify.kettle import BOILER, FIX, FIX_MESSAGE, FIXED_BOILER, Kettle, agent_session, prompt_session

pytestmark = pytest.mark.slow

SETTINGS = QualifySettings()


def _judged(kettle: Kettle, session: Session | None = None, settings: QualifySettings = SETTINGS) -> Verdict:
    return qualify_outcome(session or prompt_session(kettle.start), kettle.open(), settings)


@pytest.mark.parametrize("make", [prompt_session, agent_session])
def test_the_fix_is_found_among_unrelated_commits(kettle: Kettle, make: object) -> None:
    fix = kettle.fix()
    kettle.history.commit({"kettle/boiler.py": FIXED_BOILER.replace("4186", "4190")}, "Water is heavier", day=8)
    verdict = _judged(kettle, make(kettle.start))  # type: ignore[operator]
    assert (verdict.decision, verdict.reason_code) == (Decision.PASS, ReasonCode.OK), verdict.message
    best = verdict.outcomes[0]
    assert (best.commit, best.touches_tests) == (fix, True)
    assert verdict.outcome_rows("c-1")[0].rank == 1
    assert json.loads(best.evidence)["subject"].startswith("Fix whistle")
    scores = [outcome.score for outcome in verdict.outcomes]
    assert scores == sorted(scores, reverse=True)


def test_a_fix_on_another_branch_counts_and_one_outside_the_window_does_not(kettle: Kettle) -> None:
    fix = kettle.fix(day=9, branch="next", parents=[kettle.start])
    assert _judged(kettle).outcomes[0].commit == fix
    late = _judged(kettle, settings=QualifySettings(window_days=7))
    assert (late.decision, late.reason_code) == (Decision.FAIL, ReasonCode.OUTCOME_NOT_FOUND)
    assert fix not in [outcome.commit for outcome in late.outcomes]


def test_a_reverted_fix_is_no_outcome_unless_it_came_back(kettle: Kettle) -> None:
    fix = kettle.fix()
    undo = f'Revert "{FIX_MESSAGE.splitlines()[0]}"'
    revert = kettle.history.commit({"kettle/boiler.py": BOILER}, f"{undo}\n\nThis reverts commit {fix}.", day=6)
    reverted = _judged(kettle)
    assert (reverted.decision, reverted.reason_code) == (Decision.FAIL, ReasonCode.OUTCOME_REVERTED)
    assert revert not in [outcome.commit for outcome in reverted.outcomes]
    kettle.history.commit(FIX, f'Revert "{undo[:30]}"\n\nThis reverts commit {revert}.', day=7)
    assert _judged(kettle).decision is Decision.PASS


def test_a_squash_and_the_commit_it_was_made_of_are_one_change(kettle: Kettle) -> None:
    draft = kettle.fix(day=4, branch="draft", parents=[kettle.start])
    subject, _, body = FIX_MESSAGE.partition("\n\n")
    squash = kettle.history.commit(FIX, f"{subject} (#12)\n\n{body}", day=5)
    verdict = _judged(kettle)
    assert verdict.decision is Decision.PASS, verdict.message
    assert verdict.outcomes[0].commit == squash
    assert draft not in [outcome.commit for outcome in verdict.outcomes]


def test_a_merge_of_one_commit_stands_aside_and_one_of_several_is_their_family(kettle: Kettle) -> None:
    main = kettle.history.tips["main"]
    one = kettle.fix(day=4, branch="one", parents=[main])
    merge = kettle.history.commit(FIX, "Merge pull request #3 from ada/one", day=5, parents=[main, one])
    assert [outcome.commit for outcome in _judged(kettle).outcomes][:1] == [one]
    assert merge not in [outcome.commit for outcome in _judged(kettle).outcomes]


def test_commits_of_one_merge_do_not_make_each_other_ambiguous(kettle: Kettle) -> None:
    main = kettle.history.tips["main"]
    half = FIXED_BOILER.replace(">= 1", "> 1")
    first = kettle.history.commit(
        {"kettle/boiler.py": half}, "whistle: pressure None must not crash", day=4, branch="topic", parents=[main]
    )
    second = kettle.history.commit(FIX, "whistle: sound when the pressure is exactly 1 bar", day=4.5, branch="topic")
    merge = kettle.history.commit(FIX, "Merge branch 'topic': whistle and pressure", day=5, parents=[main, second])
    verdict = _judged(kettle)
    assert verdict.decision is Decision.PASS, verdict.message
    assert {outcome.commit for outcome in verdict.outcomes} >= {first, second, merge}
    assert json.loads(verdict.evidence)["rival"] is None or json.loads(verdict.evidence)["margin"] >= 0.1


def test_two_commits_that_explain_it_alike_are_for_a_person(kettle: Kettle) -> None:
    kettle.history.commit({"kettle/boiler.py": FIXED_BOILER}, FIX_MESSAGE, day=5)
    kettle.history.commit({"kettle/boiler.py": FIXED_BOILER.replace(">= 1", ">= 1.0")}, FIX_MESSAGE, day=5.5)
    verdict = _judged(kettle)
    assert (verdict.decision, verdict.reason_code) == (Decision.UNSURE, ReasonCode.OUTCOME_AMBIGUOUS)


def test_nothing_is_found_where_nothing_fits_and_an_issue_number_helps(kettle: Kettle) -> None:
    kettle.history.commit({"kettle/timer.py": "steep = None\n"}, "Leaves are gone. Closes #41", day=5)
    nothing = _judged(kettle)
    assert (nothing.decision, nothing.reason_code) == (Decision.FAIL, ReasonCode.OUTCOME_NOT_FOUND)
    named = _judged(kettle, prompt_session(kettle.start, "The thing of issue #41 should be done, I need it."))
    assert named.decision is Decision.PASS, named.message
    assert json.loads(named.outcomes[0].evidence)["references"] == ["41"]


def test_documentation_alone_is_no_outcome(kettle: Kettle) -> None:
    kettle.history.commit({"docs/whistle.md": "At exactly 1 bar the whistle is silent.\n"}, FIX_MESSAGE, day=5)
    verdict = _judged(kettle)
    assert (verdict.decision, verdict.reason_code) == (Decision.FAIL, ReasonCode.OUTCOME_NOT_FOUND)
