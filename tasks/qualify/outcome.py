"""Outcome finder: which commit settled the user's problem in the real world?

Evidence is deterministic (history, overlap, words, references); see `ranking.py`.
"""

from collections.abc import Sequence

from blocks.records import Decision, Qualifier, ReasonCode, Record
from blocks.repositories import Repository
from blocks.session import Session
from blocks.settings import QualifySettings
from tasks.qualify.ranking import Ranked, rank_outcomes
from tasks.qualify.surroundings import ALONE, Surroundings
from tasks.qualify.verdict import Judgement, RankedOutcome, Verdict, reach

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


def qualify_outcome(
    session: Session, repository: Repository, settings: QualifySettings, around: Surroundings = ALONE
) -> Verdict:
    """Collect the evidence and have it judged."""
    ranked = [item for item in rank_outcomes(session, repository, settings) if item.evidence.source]
    evidence = collect(ranked, settings)
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
