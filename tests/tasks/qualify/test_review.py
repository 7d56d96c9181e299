"""A person's review: kept once, answers only what was open, makes the chain go on."""

from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime
from pathlib import Path

import pytest

from blocks.catalog import index, query
from blocks.chain import Chain
from blocks.errors import UsageError
from blocks.lake import PhaseKey, PhaseWriter, commit_phase
from blocks.phases import PhaseResult, load_chain
from blocks.records import CandidateRow, Decision, Outcome, OutcomeRow, Phase, Qualifier, ReasonCode, VerdictRow
from blocks.session import Session
from blocks.settings import QualifySettings, Settings
from blocks.work import perform
from blocks.workshop import Workshop
from flows.commands.review import decide_review
from flows.judged import judged_in_catalog, judged_in_run
from flows.verdict_page import lines, markdown
from tasks.qualify.disqualify import against_outcome
from tasks.qualify.phase import QUALIFY
from tasks.qualify.review import latest_review, record_review
from tests.tasks.qualify.kettle import FIX_MESSAGE, FIXED_BOILER, IDENTITY, Kettle, prompt_session

pytestmark = pytest.mark.slow

CANDIDATE = "c-00000000deadbeef"


class Desk:
    """One candidate in a lake of its own."""

    def __init__(self, home: Path, kettle: Kettle, session: Session) -> None:
        self.settings = Settings(home=home, mirrors={IDENTITY: str(kettle.history.folder)})
        self.workshop = Workshop(self.settings)
        key = PhaseKey(candidate_id=CANDIDATE, phase=Phase.INGEST, input_key="1" * 32)
        writer = PhaseWriter(self.workshop.store, key)
        row = CandidateRow(
            candidate_id=CANDIDATE, contribution_id="x-1", source="prompt", repository=IDENTITY,
            start_commit=session.start_commit, start_fidelity=1.0, instruction=session.prompt, language=None,
            created_at=datetime(2026, 1, 1, tzinfo=UTC), consent_scopes="publish_environment",
        )  # fmt: skip
        writer.rows([row])
        writer.record("session.json", session)
        commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "by hand")

    def under(self, **qualify: object) -> "Desk":
        """The same candidate under other settings."""
        other = copy(self)
        other.settings = self.settings.model_copy(update={"qualify": QualifySettings.model_validate(qualify)})
        other.workshop = Workshop(other.settings)
        return other

    def run(self) -> PhaseResult:
        """Qualify, where it is pending."""
        _, pending = load_chain(self.workshop.store, self.settings, CANDIDATE, (QUALIFY,))
        assert pending is not None, "nothing is pending"
        return perform(QUALIFY, pending, self.workshop)

    @property
    def chain(self) -> Chain:
        return load_chain(self.workshop.store, self.settings, CANDIDATE, (QUALIFY,))[0]

    def decide(self, decision: str, **options: str | None) -> None:
        given: dict[str, str | None] = {"because": "I read both", "outcome": None, "by": "Ada", **options}
        decide_review(self.workshop, CANDIDATE, decision, **given)  # type: ignore[arg-type]


@pytest.fixture
def ambiguous(kettle: Kettle, tmp_path: Path) -> Callable[[], tuple[Desk, str, str]]:
    """Two commits that explain it alike: a person has to say which."""

    def make() -> tuple[Desk, str, str]:
        one = kettle.history.commit({"kettle/boiler.py": FIXED_BOILER}, FIX_MESSAGE, day=5)
        other = FIXED_BOILER.replace(">= 1", ">= 1.0")
        two = kettle.history.commit(
            {"kettle/boiler.py": other, "tests/test_b.py": "def test_b(): ...\n"}, FIX_MESSAGE, day=5.5
        )
        desk = Desk(tmp_path / "home", kettle, prompt_session(kettle.start))
        result = desk.run()
        assert (result.outcome, result.reason_code) == (Outcome.REVIEW, ReasonCode.OUTCOME_AMBIGUOUS), result.message
        return desk, one, two

    return make


def test_a_pass_lets_the_chain_go_on_with_the_chosen_outcome(ambiguous: Callable[[], tuple[Desk, str, str]]) -> None:
    desk, one, two = ambiguous()
    before = desk.chain.manifest(Phase.QUALIFY).key
    ranked = [row.commit for row in desk.chain.rows(Phase.QUALIFY, OutcomeRow)]
    second = next(commit for commit in (one, two) if commit != ranked[0])
    desk.decide("pass", outcome=second[:12])
    result = desk.run()
    assert (result.outcome, result.goes_on) == (Outcome.PASSED, True), result.message
    chain = desk.chain
    assert chain.manifest(Phase.QUALIFY).key != before
    rows = chain.rows(Phase.QUALIFY, VerdictRow)
    human = [row for row in rows if row.judge == "human"]
    assert [(row.qualifier, row.decision, row.model) for row in human] == [(Qualifier.OUTCOME, Decision.PASS, None)]
    assert sum(row.judge == "rules" for row in rows) == 4
    best = min(chain.rows(Phase.QUALIFY, OutcomeRow), key=lambda row: row.rank)
    assert (best.rank, best.commit) == (1, second)
    index(desk.workshop.store, desk.settings)
    asked = query(desk.settings.catalog_path, f"SELECT status FROM candidates WHERE candidate_id = '{CANDIDATE}'").rows
    assert asked == [("qualified",)]


def test_a_fail_turns_it_down_and_says_who_and_why(ambiguous: Callable[[], tuple[Desk, str, str]]) -> None:
    desk, _, _ = ambiguous()
    desk.decide("fail", because="neither is what was asked")
    result = desk.run()
    assert (result.outcome, result.reason_code) == (Outcome.REJECTED, ReasonCode.REVIEWED_OUT)
    assert "Ada: neither is what was asked" in result.message
    with pytest.raises(UsageError, match="nothing is open"):
        desk.decide("pass")


def test_a_review_is_kept_once_and_never_written_over(ambiguous: Callable[[], tuple[Desk, str, str]]) -> None:
    desk, _, _ = ambiguous()
    desk.decide("pass")
    first = latest_review(desk.workshop.store, CANDIDATE)
    assert first is not None
    again = first.model_copy(update={"decided_at": datetime(2027, 1, 1, tzinfo=UTC)})
    assert record_review(desk.workshop.store, again) == 1
    other = again.model_copy(update={"decision": Decision.FAIL})
    assert record_review(desk.workshop.store, other) == 2
    assert latest_review(desk.workshop.store, CANDIDATE) == other
    names = [info.key for info in desk.workshop.store.list(f"candidates/{CANDIDATE}/reviews/")]
    assert [name.rpartition("/")[2] for name in names] == ["1.json", "2.json"]


def test_a_review_answers_no_other_doubt_and_no_fail(ambiguous: Callable[[], tuple[Desk, str, str]]) -> None:
    desk, _, _ = ambiguous()
    desk.decide("pass")
    # The same person's yes, and now the licence is not allowed: that is not what they said yes to.
    result = desk.under(licences=("Apache-2.0",)).run()
    assert (result.outcome, result.reason_code) == (Outcome.REJECTED, ReasonCode.LICENCE_NOT_ALLOWED)
    review = latest_review(desk.workshop.store, CANDIDATE)
    assert review is not None
    elsewhere = review.answers[0].model_copy(update={"doubt": ReasonCode.DUPLICATE})
    record_review(desk.workshop.store, review.model_copy(update={"answers": (elsewhere,)}))
    assert desk.run().outcome is Outcome.REVIEW


@pytest.mark.parametrize(
    ("decision", "options", "said"),
    [
        ("maybe", {}, "pass or fail"),
        ("pass", {"because": "  "}, "say why"),
        ("pass", {"outcome": "0" * 40}, "no such commit"),
    ],
)
def test_what_cannot_be_decided(
    decision: str, options: dict[str, str], said: str, ambiguous: Callable[[], tuple[Desk, str, str]]
) -> None:
    desk, _, _ = ambiguous()
    with pytest.raises(UsageError, match=said):
        desk.decide(decision, **options)
    assert latest_review(desk.workshop.store, CANDIDATE) is None


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"README.md": "# kettle, boils\n"}, "change_trivial"),
        ({"kettle/boiler.py": FIXED_BOILER + "\n"}, "change_trivial"),
        ({"kettle/many.py": "".join(f"x{n} = {n}\n" for n in range(4000))}, "change_too_large"),
    ],
)
def test_an_outcome_that_a_person_names_is_held_to_the_rules(
    kettle: Kettle, ambiguous: Callable[[], tuple[Desk, str, str]], files: dict[str, str], code: str
) -> None:
    desk, _, _ = ambiguous()
    named = kettle.history.commit(files, "Something else", day=6)
    with pytest.raises(UsageError, match=f"{code}: .*name another commit, or decide `fail`"):
        desk.decide("pass", outcome=named)
    assert latest_review(desk.workshop.store, CANDIDATE) is None
    desk.decide("fail", outcome=named)
    assert desk.run().reason_code is ReasonCode.REVIEWED_OUT


def test_an_outcome_that_a_benchmark_uses_may_not_be_named(kettle: Kettle, tmp_path: Path) -> None:
    fix = kettle.fix()
    assert against_outcome(kettle.open(), fix, QualifySettings(), tmp_path) is None
    (tmp_path / "some.txt").write_text(f"{IDENTITY.removeprefix('https://')} {fix}\n")
    fault = against_outcome(kettle.open(), fix, QualifySettings(), tmp_path)
    assert fault is not None and fault.reason_code is ReasonCode.KNOWN_BENCHMARK
    assert against_outcome(kettle.open(), fix, QualifySettings(known_benchmarks=False), tmp_path) is None


def test_the_page_says_on_one_screen_why(ambiguous: Callable[[], tuple[Desk, str, str]]) -> None:
    desk, one, two = ambiguous()
    desk.decide("pass", because="the second has a test | `x` \x1b[31m", outcome=two)
    desk.run()
    index(desk.workshop.store, desk.settings)
    judged = judged_in_catalog(desk.settings.catalog_path, CANDIDATE)
    assert judged is not None
    page = lines(judged)
    text = "\n".join(page)
    assert len(page) <= 50 and max(map(len, page)) <= 300
    for wanted in (
        CANDIDATE,
        "qualified",
        "? outcome",
        "outcome_ambiguous",
        "human",
        "the second has a test",
        "licence MIT",
        two[:12],
        one[:12],
    ):
        assert wanted in text, wanted
    assert "\x1b" not in text
    key = desk.chain.manifest(Phase.QUALIFY).key
    run = judged_in_run(desk.workshop, key)
    assert run is not None
    shown = markdown(run)
    assert "| ? outcome | unsure | `outcome_ambiguous` | rules |" in shown
    assert "\x1b" not in shown and "`x`" not in shown
