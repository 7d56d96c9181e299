"""Labelled candidates where it is the question which commit settled it."""

from dataclasses import replace

from blocks.settings import QualifySettings
from tasks.qualify.github import PullFacts
from tasks.qualify.surroundings import ALONE
from tests.tasks.qualify.kettle import (
    BASE,
    BOILER,
    FIX,
    FIX_MESSAGE,
    FIXED_BOILER,
    IDENTITY,
    TIMER,
    Kettle,
    prompt_session,
)
from tests.tasks.qualify.labelled.scene import Hosted, Scene, case, swap, turns

SUBJECT, _, BODY = FIX_MESSAGE.partition("\n\n")
UNDO = f'Revert "{SUBJECT}"'


def _prompt(kettle: Kettle, *outcome: str, **more: object) -> Scene:
    return Scene(prompt_session(kettle.start), kettle.open(), outcome=outcome, **more)  # type: ignore[arg-type]


@case("the squash is what landed; the draft it was made of is the same change")
def squash_merge(kettle: Kettle) -> Scene:
    kettle.fix(day=4, branch="draft", parents=[kettle.start])
    return _prompt(kettle, kettle.history.commit(FIX, f"{SUBJECT} (#12)\n\n{BODY}", day=5))


@case("a squash of several drafts has another message than any of them")
def squash_of_several(kettle: Kettle) -> Scene:
    half = FIXED_BOILER.replace(">= 1", "> 1")
    kettle.history.commit({"kettle/boiler.py": half}, "wip none", day=4, branch="draft", parents=[kettle.start])
    kettle.history.commit(FIX, "wip limit", day=4.2, branch="draft")
    message = f"{SUBJECT} (#12)\n\n* wip none\n\n* wip limit"
    return _prompt(kettle, kettle.history.commit(FIX, message, day=5))


@case("rebased: the same change with another id; one of the two is it")
def rebased(kettle: Kettle) -> Scene:
    before = kettle.fix(day=4, branch="topic", parents=[kettle.start])
    return _prompt(kettle, before, kettle.fix(day=6))


@case("it never reached the main branch, and is public on another")
def on_another_branch(kettle: Kettle) -> Scene:
    return _prompt(kettle, kettle.fix(day=9, branch="next", parents=[kettle.start]))


@case("a backport is the same change once more")
def backported(kettle: Kettle) -> Scene:
    fix = kettle.fix(day=5)
    return _prompt(kettle, fix, kettle.fix(day=6, branch="1.x", parents=[kettle.first]))


@case("too late: after the window nobody can say that it answers this session", outcome="fail:outcome_not_found")
def after_the_window(kettle: Kettle) -> Scene:
    kettle.fix(day=9)
    return _prompt(kettle, settings=QualifySettings(window_days=7))


@case("nothing of it was ever done", outcome="fail:outcome_not_found")
def never_done(kettle: Kettle) -> Scene:
    kettle.history.commit({"kettle/timer.py": TIMER + "\n\ndef chai():\n    return 5\n"}, "Steep chai", day=5)
    return _prompt(kettle)


@case("done and taken back: the project does not want it", outcome="fail:outcome_reverted")
def reverted(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    kettle.history.commit({"kettle/boiler.py": BOILER}, f"{UNDO}\n\nThis reverts commit {fix}.", day=6)
    return _prompt(kettle, fix)


@case("taken back by its subject only, as some tools do", outcome="fail:outcome_reverted")
def reverted_by_name(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    kettle.history.commit({"kettle/boiler.py": BOILER}, UNDO, day=6)
    return _prompt(kettle, fix)


@case("taken back, and brought back: it stands")
def reverted_and_landed_again(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    undo = kettle.history.commit({"kettle/boiler.py": BOILER}, f"{UNDO}\n\nThis reverts commit {fix}.", day=6)
    kettle.history.commit(FIX, f'Revert "{UNDO}"\n\nThis reverts commit {undo}.', day=7)
    return _prompt(kettle, fix)


@case(
    "two commits that say the same and do nearly the same: a person has to choose", outcome="unsure:outcome_ambiguous"
)
def two_alike(kettle: Kettle) -> Scene:
    one = kettle.history.commit({"kettle/boiler.py": FIXED_BOILER}, FIX_MESSAGE, day=5)
    other = {**FIX, "kettle/boiler.py": FIXED_BOILER.replace(">= 1", ">= 1.0")}
    return _prompt(kettle, one, kettle.history.commit(other, FIX_MESSAGE, day=5.5))


@case("of two commits about the whistle the user's issue number tells which")
def issue_number_decides(kettle: Kettle) -> Scene:
    loud = BOILER + "\n\ndef volume():\n    return 7\n"
    kettle.history.commit({"kettle/boiler.py": loud}, "whistle: louder at pressure. Closes #40", day=4)
    test = {"tests/test_boiler.py": FIX["tests/test_boiler.py"]}
    fixed = {"kettle/boiler.py": FIXED_BOILER + "\n\ndef volume():\n    return 7\n"}
    fix = kettle.history.commit({**fixed, **test}, "whistle: pressure at the limit. Closes #41", day=5)
    session = prompt_session(kettle.start, "Please solve #41: the whistle is silent at its limit of pressure.")
    return Scene(session, kettle.open(), outcome=(fix,))


@case("the commit says nothing; its pull request closes the issue that the user names")
def pull_request_tells(kettle: Kettle) -> Scene:
    fix = kettle.history.commit(FIX, "Review comments", day=5)
    pull = PullFacts(number=78, title="Whistle at the limit", body="Closes #77", merged=True)
    session = prompt_session(
        kettle.start, "We need what is described in #77 for the whistle, as soon as possible please."
    )
    around = replace(ALONE, hosting=Hosted(pulls=((fix, pull),)))
    return Scene(session, kettle.open(), around=around, outcome=(fix,))


@case("a merge of one commit stands aside for it")
def merge_of_one(kettle: Kettle) -> Scene:
    main = kettle.history.tips["main"]
    one = kettle.fix(day=4, branch="one", parents=[main])
    kettle.history.commit(FIX, "Merge pull request #3 from ada/one", day=5, parents=[main, one])
    return _prompt(kettle, one)


@case("a merge of two commits that do it together: any of the family is right")
def merge_of_two(kettle: Kettle) -> Scene:
    main = kettle.history.tips["main"]
    half = {"kettle/boiler.py": FIXED_BOILER.replace(">= 1", "> 1")}
    one = kettle.history.commit(half, "whistle: None must not crash it", day=4, branch="topic", parents=[main])
    two = kettle.history.commit(FIX, "whistle: sound when the pressure is exactly 1 bar", day=4.5, branch="topic")
    merge = kettle.history.commit(FIX, "Merge branch 'topic': whistle and pressure", day=5, parents=[main, two])
    return _prompt(kettle, one, two, merge)


@case("the fix, and a later correction of it: the fix settled it")
def followed_up(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    again = FIXED_BOILER.replace("return False", "return bool(pressure)")
    kettle.history.commit({"kettle/boiler.py": again}, f"Follow-up to {fix[:10]}: say it with bool", day=6)
    return _prompt(kettle, fix)


@case("the user's words are few, but the lines that the session edited are those of the fix")
def lines_of_the_session(kettle: Kettle) -> Scene:
    kettle.history.commit({"kettle/timer.py": TIMER.replace("2", "3")}, "Fix green tea, it was bitter", day=4)
    fix = kettle.fix()
    edit = swap("kettle/boiler.py", "    return pressure > 1", "    return pressure >= 1")
    session = turns(
        kettle.start,
        "please fix the limit bug in the boiler module, it is off by a bit",
        identity=IDENTITY,
        edits=(edit,),
    )
    return Scene(session, kettle.open(), outcome=(fix,))


@case("a rewrite touches the same file and says much; the small fix is it")
def beside_a_rewrite(kettle: Kettle) -> Scene:
    big = BOILER + "".join(f"\n\ndef stage_{n}(water):\n    return water * {n}\n" for n in range(60))
    kettle.history.commit({"kettle/boiler.py": big}, "Rewrite of the boiler: stages of heating", day=4)
    fixed = big.replace(
        "    return pressure > 1\n", "    if pressure is None:\n        return False\n    return pressure >= 1\n"
    )
    return _prompt(kettle, kettle.history.commit({**FIX, "kettle/boiler.py": fixed}, FIX_MESSAGE, day=5))


@case(
    "documentation of the behaviour settles nothing",
    outcome="fail:outcome_not_found",
    disqualifier="fail:change_not_source",
)
def documented_only(kettle: Kettle) -> Scene:
    kettle.history.commit({"docs/whistle.md": "At exactly 1 bar the whistle is silent.\n"}, FIX_MESSAGE, day=5)
    return _prompt(kettle)


@case("a dependency was bumped, the project's source is as before", outcome="fail:outcome_not_found",
      disqualifier="fail:change_not_source")  # fmt: skip
def dependency_only(kettle: Kettle) -> Scene:
    files = {"pyproject.toml": BASE["pyproject.toml"] + 'dependencies = ["whistle>=2"]\n'}
    kettle.history.commit(files, f"{SUBJECT} by a newer whistle", day=5)
    return _prompt(kettle)


@case(
    "the session is after the fix: what the user saw was there already",
    outcome="fail:outcome_not_found",
    disqualifier="-",
)
def fixed_before(kettle: Kettle) -> Scene:
    start = kettle.fix()
    kettle.history.commit({"kettle/timer.py": TIMER + "\n\ndef chai():\n    return 5\n"}, "Steep chai", day=6)
    return Scene(prompt_session(start), kettle.open())
