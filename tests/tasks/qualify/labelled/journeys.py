"""Labelled candidates where it is the question what the user wanted."""

from tests.tasks.qualify.kettle import IDENTITY, PROMPT, Kettle, prompt_session
from tests.tasks.qualify.labelled.scene import Scene, case, swap, turns


def _said(kettle: Kettle, text: str) -> Scene:
    kettle.fix()
    return Scene(prompt_session(kettle.start, text), kettle.open())


@case(
    "nobody can know what is wanted", journey="fail:intent_unclear", outcome="fail:outcome_not_found", disqualifier="-"
)
def fix_it(kettle: Kettle) -> Scene:
    return _said(kettle, "fix it")


@case("an order to go on with something that is not there", journey="fail:intent_unclear", outcome="fail:outcome_not_found",
      disqualifier="-")  # fmt: skip
def go_on(kettle: Kettle) -> Scene:
    return _said(kettle, "continue please")


@case("a greeting asks for nothing", journey="fail:intent_unclear", outcome="fail:outcome_not_found", disqualifier="-")
def greeting(kettle: Kettle) -> Scene:
    return _said(kettle, "hello there, how are you")


@case("code alone is no wish", journey="fail:intent_unclear", outcome="-", disqualifier="-")
def code_alone(kettle: Kettle) -> Scene:
    return _said(kettle, "```\nfrom kettle.boiler import whistle\nwhistle(None)\n```")


@case("a pasted traceback without a word says what happened, not what is wanted", journey="fail:intent_unclear", outcome="-",
      disqualifier="-")  # fmt: skip
def traceback_alone(kettle: Kettle) -> Scene:
    return _said(
        kettle, 'Traceback (most recent call last):\n  File "boiler.py", line 11, in whistle\nTypeError: None\n'
    )


@case("another language, and clear; the rules read English and code, so they find the outcome by the name only", outcome="-",
      disqualifier="-")  # fmt: skip
def other_language(kettle: Kettle) -> Scene:
    text = (
        "圧力がちょうど1バールのとき `whistle` が鳴りません。鳴るように直してください。None を渡すと例外が発生します。"
    )
    return _said(kettle, text)


@case("the user says what is wrong in plain words, and names the piece of code")
def short_and_clear(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    text = "whistle(1) must sound at exactly 1 bar pressure, and None must not crash it"
    return Scene(prompt_session(kettle.start, text), kettle.open(), outcome=(fix,))


@case("corrections and rejections belong to the wish; orders to the agent do not")
def corrected_twice(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    edit = swap("kettle/boiler.py", "    return pressure > 1", "    return pressure > 0")
    texts = (
        "The whistle stays silent at exactly 1 bar, it should sound there.",
        "No. At half a bar it must stay silent.",
        "run the tests again",
        "whistle(None) still crashes, it should just return False.",
    )
    return Scene(turns(kettle.start, *texts, identity=IDENTITY, edits=(edit,)), kettle.open(), outcome=(fix,))


@case("a long prompt with a log in it: the log is no wish, the sentences around it are")
def prompt_with_a_log(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    log = 'Traceback (most recent call last):\n  File "boiler.py", line 11, in whistle\nTypeError: not supported\n'
    text = f"{PROMPT}\n\n{log}\nPlease keep the existing tests passing."
    return Scene(prompt_session(kettle.start, text), kettle.open(), outcome=(fix,))
