"""Origin: is this a public commit of a licensed repository, and did the session happen on it?"""

from blocks.records import Decision, Qualifier, ReasonCode, Record
from blocks.repositories import Repository, RepositoryUnreachableError
from blocks.session import Session
from blocks.settings import QualifySettings
from tasks.qualify.fidelity import Fidelity, measure_fidelity
from tasks.qualify.licence import Licence, allowed, read_licence
from tasks.qualify.verdict import Judgement, Verdict, reach

MIN_FIDELITY = 0.5
"""Below it the session is about other files: fail. Between it and 1.0 differing files make the verdict unsure (a dirty
working tree); files that are only absent from the commit do not."""


class OriginEvidence(Record):
    """What is known of where the session happened."""

    commit: str | None = None
    branches: tuple[str, ...] = ()
    """Some of the public branches that reach the commit."""
    branch_count: int = 0
    licence: str | None = None
    """SPDX id that both detectors agree on."""
    licence_files: Licence | None = None
    licence_gate: bool = True
    fidelity: Fidelity = Fidelity()
    start_fidelity: float | None = None
    fault: str | None = None
    """Why the repository could not be read."""


def qualify_origin(session: Session, repository: Repository, settings: QualifySettings) -> Verdict:
    """Collect the evidence and have it judged."""
    evidence = collect(session, repository, settings)
    return reach(Qualifier.ORIGIN, evidence, lambda: decide(evidence, settings), settings)


def unreachable(error: RepositoryUnreachableError, settings: QualifySettings) -> Verdict:
    """The verdict where the repository cannot be read at all."""
    evidence = OriginEvidence(fault=str(error), licence_gate=settings.licence_gate)
    return reach(Qualifier.ORIGIN, evidence, lambda: decide(evidence, settings), settings)


def collect(session: Session, repository: Repository, settings: QualifySettings) -> OriginEvidence:
    """The evidence, as far as it can be had."""
    commit = repository.resolve(session.start_commit)
    if commit is None:
        return OriginEvidence(licence_gate=settings.licence_gate)
    branches = repository.branches_containing(commit)
    licence = read_licence(repository, commit)
    fidelity = measure_fidelity(session, repository, commit)
    return OriginEvidence(
        commit=commit,
        branches=branches[:5],
        branch_count=len(branches),
        licence=licence.primary.licence if licence.primary else None,
        licence_files=licence,
        licence_gate=settings.licence_gate,
        fidelity=fidelity,
        start_fidelity=fidelity.share,
    )


def decide(evidence: OriginEvidence, settings: QualifySettings) -> Judgement:
    """The first rule that speaks, in the order: repository, commit, branch, session, licence."""
    if evidence.fault is not None:
        return _no(ReasonCode.REPOSITORY_UNREACHABLE, evidence.fault)
    if evidence.commit is None:
        return _no(
            ReasonCode.COMMIT_NOT_FOUND, "the repository has no such start commit; hand in one of a public branch"
        )
    if not evidence.branch_count:
        return _no(ReasonCode.COMMIT_NOT_PUBLIC, f"{evidence.commit} cannot be reached from any public branch")
    share = evidence.start_fidelity
    if share is not None and share < MIN_FIDELITY:
        told = f"only {share:.0%} of what the session shows of files matches the start commit"
        return _no(ReasonCode.SESSION_MISMATCH, told)
    if settings.licence_gate:
        licence = _licence(evidence, settings)
        if licence is not None:
            return licence
    if evidence.fidelity.differing:
        told = f"the session saw other contents than the start commit has: {', '.join(evidence.fidelity.differing[:5])}"
        return Judgement(
            decision=Decision.UNSURE, reason_code=ReasonCode.SESSION_MISMATCH, confidence=share or 0.0, message=told
        )
    sure = 0.8 if share is None else min(0.99, 0.6 + 0.4 * share)
    told = (
        f"public commit, licence {evidence.licence or 'unknown'}, fidelity {'not measured' if share is None else share}"
    )
    return Judgement(decision=Decision.PASS, reason_code=ReasonCode.OK, confidence=round(sure, 3), message=told)


def _licence(evidence: OriginEvidence, settings: QualifySettings) -> Judgement | None:
    found = evidence.licence_files
    if found is None or found.primary is None:
        return _no(
            ReasonCode.LICENCE_MISSING,
            "the start commit has no licence file in its root; without one nothing may be made of it",
        )
    names = (
        f"{found.primary.path}: {found.primary.askalono} ({found.primary.score}), {list(found.primary.spdx_matcher)}"
    )
    if evidence.licence is None:
        told = f"the two detectors do not agree ({names})"
        return Judgement(decision=Decision.UNSURE, reason_code=ReasonCode.LICENCE_UNSURE, confidence=0.5, message=told)
    if not allowed(evidence.licence, settings.licences):
        return _no(ReasonCode.LICENCE_NOT_ALLOWED, f"{evidence.licence} is not in qualify.licences")
    if found.contradicted:
        told = f"the project's metadata declares {found.declared!r}, its licence file is {evidence.licence}"
        return Judgement(decision=Decision.UNSURE, reason_code=ReasonCode.LICENCE_UNSURE, confidence=0.5, message=told)
    return None


def _no(code: ReasonCode, message: str) -> Judgement:
    return Judgement(decision=Decision.FAIL, reason_code=code, confidence=0.95, message=message)
