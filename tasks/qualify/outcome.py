"""Outcome finder: which commit settled the user's problem in the real world?

Evidence is deterministic (history, overlap, words, references); see `ranking.py`.
"""

from collections.abc import Sequence

from blocks.records import Decision, Qualifier, ReasonCode, Record
from blocks.repositories import Repository
from blocks.session import Session
from blocks.settings import QualifySettings
from tasks.qualify.parts import Authorship, FollowUp, Part, authorship_of, follow_ups, parts_of
from tasks.qualify.ranking import Ranked, Ranking, rank, with_references
from tasks.qualify.signals import Signals
from tasks.qualify.surroundings import ALONE, Surroundings
from tasks.qualify.verdict import Judgement, RankedOutcome, Verdict, reach
from tasks.qualify.words import references

MIN_STRENGTH = 0.15
"""Below it a commit does not explain the session."""
SURE_STRENGTH = 0.22
"""Below it a commit may explain the session: a person has to look. Both set on 20 fixes of four public libraries, so that
few prompts whose fix is not in the window find another one."""
MIN_MARGIN = 0.10
"""How far, as a share of its score, the best commit must be ahead of the best one of another family."""
KEPT = 5


class OutcomesEvidence(Record):
    """The best candidates and how far they are apart."""

    window_days: int
    considered: int
    """Commits of the window that change source and share anything with the session."""
    margin: float | None
    """None where there is only one family of candidates."""
    best: Ranked | None
    rival: Ranked | None
    parts: tuple[Part, ...] = ()
    """The best one's hunks: which belong to it, and which came along."""
    follow_ups: tuple[FollowUp, ...] = ()
    authorship: Authorship | None = None


def qualify_outcome(
    session: Session, repository: Repository, settings: QualifySettings, around: Surroundings = ALONE
) -> Verdict:
    """Collect the evidence and have it judged."""
    found = rank(session, repository, settings)
    ranked = _with_pulls([item for item in found.ranked if item.evidence.source], found.signals, around)
    evidence = collect(ranked, settings)
    if found.signals and evidence.best and evidence.best.evidence.strength >= MIN_STRENGTH:
        evidence = evidence.model_copy(update=_around(repository, session, found, evidence.best))
    outcomes = tuple(
        RankedOutcome(
            commit=item.commit,
            score=item.score,
            overlap=item.overlap,
            touches_tests=item.touches_tests,
            evidence=item.evidence.model_dump_json(),
        )
        for item in ranked[:KEPT]
    )
    return reach(Qualifier.OUTCOME, evidence, lambda: decide(evidence), outcomes=outcomes)


def collect(ranked: Sequence[Ranked], settings: QualifySettings) -> OutcomesEvidence:
    """The best candidate and the best one that is another change."""
    best = ranked[0] if ranked else None
    rival = next((item for item in ranked[1:] if best and item.evidence.family != best.evidence.family), None)
    return OutcomesEvidence(
        window_days=settings.window_days,
        considered=len(ranked),
        margin=round((best.score - rival.score) / best.score, 4) if best and rival else None,
        best=best,
        rival=rival,
    )


def _around(repository: Repository, session: Session, found: Ranking, best: Ranked) -> dict[str, object]:
    """What the evidence says of the best candidate beyond its rank."""
    chosen = next(item for item in found.history.candidates if item.commit.sha == best.commit)
    start = repository.commit(repository.resolve(session.start_commit) or session.start_commit)
    return {
        "parts": parts_of(repository, best.commit, found.signals) if found.signals else (),
        "follow_ups": follow_ups(repository, found.history, chosen),
        "authorship": authorship_of(repository, start, chosen.commit),
    }


def _with_pulls(ranked: list[Ranked], signals: Signals | None, around: Surroundings) -> list[Ranked]:
    """The same, with the pull requests of the first few; one that names an issue of the session's counts as a reference."""
    if signals is None:
        return ranked
    seen = []
    for item in ranked[:KEPT]:
        pulls = around.hosting.pulls_of(item.commit)
        said = references("\n".join(f"#{pull.number} {pull.title}\n{pull.body}" for pull in pulls))
        seen.append(
            with_references(item, tuple(sorted(signals.references & said)), tuple(pull.number for pull in pulls))
        )
    return sorted([*seen, *ranked[KEPT:]], key=lambda item: -item.score)


def decide(evidence: OutcomesEvidence) -> Judgement:
    """Not found, reverted, ambiguous, or found."""
    best, rival = evidence.best, evidence.rival
    if best is None or best.evidence.strength < MIN_STRENGTH:
        told = f"none of {evidence.considered} commits within {evidence.window_days} days explains the session"
        return Judgement(decision=Decision.FAIL, reason_code=ReasonCode.OUTCOME_NOT_FOUND, confidence=0.7, message=told)
    name = f"{best.commit[:10]} ({best.evidence.subject[:80]})"
    if best.evidence.reverted_by:
        told = f"{name} was reverted by {best.evidence.reverted_by[:10]}"
        return Judgement(decision=Decision.FAIL, reason_code=ReasonCode.OUTCOME_REVERTED, confidence=0.9, message=told)
    if best.evidence.strength < SURE_STRENGTH:
        told = f"{name} explains the session only weakly (strength {best.evidence.strength:.2f})"
        return Judgement(
            decision=Decision.UNSURE, reason_code=ReasonCode.OUTCOME_AMBIGUOUS, confidence=0.4, message=told
        )
    if rival is not None and evidence.margin is not None and evidence.margin < MIN_MARGIN:
        told = f"{name} is only {evidence.margin:.0%} ahead of {rival.commit[:10]} ({rival.evidence.subject[:80]})"
        return Judgement(
            decision=Decision.UNSURE, reason_code=ReasonCode.OUTCOME_AMBIGUOUS, confidence=0.5, message=told
        )
    sure = min(0.99, 0.5 + best.evidence.strength / 2 + (evidence.margin or 0.5) / 4)
    told = f"{name}, score {best.score:.2f}"
    return Judgement(decision=Decision.PASS, reason_code=ReasonCode.OK, confidence=round(sure, 3), message=told)
