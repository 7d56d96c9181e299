import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.records import Decision, ReasonCode
from blocks.settings import QualifySettings
from tasks.qualify.journey import collect, decide, qualify_journey
from tasks.qualify.ledger import requirements_of
from tests.tasks.qualify.kettle import Kettle, agent_session, prompt_session

START = "0" * 40


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fix it",
        "continue",
        "help me please",
        "hello there, how are you",
        "```\nraise ValueError('all of this is code')\n```",
    ],
)
def test_a_prompt_that_says_nothing_is_unclear(text: str) -> None:
    judged = decide(collect(prompt_session(START, text)))
    assert (judged.decision, judged.reason_code) == (Decision.FAIL, ReasonCode.INTENT_UNCLEAR), text


@pytest.mark.parametrize(
    "text",
    [
        "boil() returns a negative number",
        "`whistle(None)` raises a TypeError",
        "The kettle gets hotter and hotter although the water is long gone.",
        "トークンの有効期限が切れた後に再接続すると例外が発生します。直してください。",
    ],
)
def test_a_prompt_that_says_something_passes(text: str) -> None:
    assert decide(collect(prompt_session(START, text))).decision is Decision.PASS


def test_the_ledger_quotes_the_user_in_the_order_of_the_session(kettle: Kettle) -> None:
    verdict = qualify_journey(agent_session(START), kettle.open(), QualifySettings())
    assert [(found.turn, found.quote) for found in verdict.requirements] == [
        (0, "the whistle does not sound at exactly 1 bar, please fix"),
        (2, "No, it still crashes on None."),
    ]
    assert '"interventions":{"feedback":1}' in verdict.evidence
    assert [row.item for row in verdict.requirement_rows("c-1")] == [1, 2]


def test_pasted_things_and_courtesies_are_no_requirements() -> None:
    text = """Hi there!
- steep("white") should give 3 minutes.
- The existing tests have to keep passing, don't change the public API.

user@host:~/kettle$ python -m kettle
Traceback (most recent call last):
  File "kettle.py", line 1, in <module>
KeyError: 'white'

kettle.errors.SteepFailed: no such tea
KETTLE_TOKEN=[REDACTED:token-1]
```python
steep("white") must not be quoted from here
```
Thanks a lot!
"""
    found = requirements_of(prompt_session(START, text))
    assert [(item.kind, item.quote) for item in found] == [
        ("explicit", 'steep("white") should give 3 minutes.'),
        ("regression", "The existing tests have to keep passing, don't change the public API."),
    ]


@given(st.text(st.sampled_from("ab .!?\n`#-*1)\t<>$ü\r\u2028") | st.characters(), max_size=200))
def test_every_quote_stands_in_its_step(text: str) -> None:
    for item in requirements_of(prompt_session(START, text)):
        assert item.quote
        assert item.quote in text
