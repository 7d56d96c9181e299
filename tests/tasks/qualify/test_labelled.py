"""Every labelled candidate, judged by rules: the answers are those written down by hand."""

import pytest

from blocks.records import Decision, Qualifier
from tasks.qualify.aggregate import qualify
from tests.tasks.qualify.kettle import Kettle
from tests.tasks.qualify.labelled.all import ALL
from tests.tasks.qualify.labelled.scene import Labelled

pytestmark = pytest.mark.slow

KNOWN_WRONG: dict[tuple[str, Qualifier], str] = {
    ("squash_of_several", Qualifier.OUTCOME): "unsure:outcome_ambiguous",
}
"""Answers of the rules that are wrong, and what they are instead: none of them a false pass of origin or disqualifier."""


@pytest.mark.parametrize("labelled", ALL, ids=lambda labelled: labelled.name)
def test_the_rules_answer_as_a_person_would(labelled: Labelled, kettle: Kettle) -> None:
    scene = labelled.make(kettle)
    for verdict in qualify(scene.session, scene.repository, scene.settings, scene.around):
        said = str(verdict.decision)
        if verdict.decision is not Decision.PASS:
            said = f"{said}:{verdict.reason_code}"
        right = labelled.right[verdict.qualifier]
        expected = KNOWN_WRONG.get((labelled.name, verdict.qualifier), right)
        assert right == "-" or said == expected, f"{labelled.why}: {verdict.message}"
        if verdict.qualifier is Qualifier.OUTCOME and scene.outcome and right == "pass":
            assert verdict.outcomes[0].commit in scene.outcome, verdict.message


def test_the_set_is_large_enough_and_every_case_says_why() -> None:
    assert len(ALL) >= 60
    assert len({labelled.name for labelled in ALL}) == len(ALL)
    assert not [labelled.name for labelled in ALL if len(labelled.why.split()) < 4]
    for qualifier in Qualifier:
        answers = {labelled.right[qualifier].partition(":")[0] for labelled in ALL}
        assert {"pass", "fail"} <= answers, qualifier


def test_known_mistakes_are_no_false_passes() -> None:
    for (name, qualifier), said in KNOWN_WRONG.items():
        assert said != "pass" or qualifier in (Qualifier.JOURNEY, Qualifier.OUTCOME), name
