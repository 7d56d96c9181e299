import pytest

from blocks.errors import UsageError
from blocks.llm import Question, judge_for
from blocks.records import Record
from blocks.settings import QualifySettings


class Answer(Record):
    value: int


def test_the_rules_judge_answers_by_rule_and_says_so() -> None:
    question = Question(name="origin", task="?", evidence="{}")
    reply = judge_for(QualifySettings()).ask(question, Answer, lambda: Answer(value=3))
    assert (reply.answer.value, reply.judge, reply.model, reply.cost_usd) == (3, "rules", None, 0.0)


@pytest.mark.parametrize("name", ["litellm", "recorded", "oracle"])
def test_judges_that_are_not_there_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="rules"):
        judge_for(QualifySettings(provider=name))
