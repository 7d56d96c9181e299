"""Origin: is the start a commit of a licensed public repository, and did the session happen on it?"""

from blocks.records import Decision, Qualifier, ReasonCode, Record
from blocks.repositories import Repository, RepositoryUnreachableError, Way
from blocks.repositories.standing import public_ancestor
from blocks.session import Session
from blocks.settings import QualifySettings
from blocks.start import Start
from tasks.qualify.fidelity import Fidelity
from tasks.qualify.github import Asked
from tasks.qualify.licence import Licence, allowed, read_licence
from tasks.qualify.start import Base, find_start
from tasks.qualify.surroundings import ALONE, Surroundings
from tasks.qualify.verdict import Judgement, Verdict, reach

REQUIRED_SCOPE = "publish_environment"
MIN_FIDELITY = 0.5
"""Of what the session saw, at least this share is in the commit itself; below it the session is about other files. Between it
and 1.0 the start state has to make up for the rest by what the session shows of uncommitted files; else a person has to
look."""
_HOW = {
    Way.TAG: "held by a tag only",
    Way.PULL: "of a pull request",
    Way.ID: "given by its id only",
    Way.LEFT: "no longer public",
}


class OriginEvidence(Record):
    """What is known of where the session happened."""

    commit: str | None = None
    """The commit whose files the start has."""
    branches: tuple[str, ...] = ()
    """Some of the public branches that reach the commit."""
    branch_count: int = 0
    start: Start | None = None
    base: Base | None = None
    """How the commit was chosen that stands in for one that cannot be had."""
    ancestor: str | None = None
    """The public commit from which the start departs, where no branch or tag holds it."""
    licence: str | None = None
    """SPDX id that both detectors agree on."""
    licence_files: Licence | None = None
    ancestor_licence: str | None = None
    licence_gate: bool = True
    fidelity: Fidelity = Fidelity()
    start_fidelity: float | None = None
    """Share of what the session saw that the start state has, with what was recovered."""
    exceptions: tuple[str, ...] = ()
    """Licence files beside the project's own whose licence is not allowed: per-directory exceptions, other editions."""
    in_submodules: tuple[str, ...] = ()
    """Submodules whose files the session edits; their licence is elsewhere."""
    hosting: Asked = Asked(said="no service was asked: Git evidence alone")
    """What the hosting service says of the repository today."""
    renamed_to: str | None = None
    """`owner/name` of today, where the service has moved it."""
    consent: tuple[str, ...] | None = None
    """Scopes the contributor consented to."""
    missing: str | None = None
    """What was tried for a start commit that cannot be had, and why no other one stands in for it."""
    fault: str | None = None
    """Why the repository could not be read."""


def qualify_origin(
    session: Session, repository: Repository, settings: QualifySettings, around: Surroundings = ALONE
) -> Verdict:
    """Collect the evidence and have it judged."""
    evidence = collect(session, repository, settings, around)
    return reach(Qualifier.ORIGIN, evidence, lambda: decide(evidence, settings), start=evidence.start)


def unreachable(error: RepositoryUnreachableError, settings: QualifySettings) -> Verdict:
    """The verdict where the repository cannot be read at all."""
    evidence = OriginEvidence(fault=str(error), licence_gate=settings.licence_gate)
    return reach(Qualifier.ORIGIN, evidence, lambda: decide(evidence, settings))


def collect(
    session: Session, repository: Repository, settings: QualifySettings, around: Surroundings = ALONE
) -> OriginEvidence:
    """The evidence, as far as it can be had."""
    hosting = around.hosting.repository()
    found = find_start(session, repository)
    start = found.start
    if start is None:
        return OriginEvidence(
            missing=found.why, licence_gate=settings.licence_gate, hosting=hosting, consent=around.scopes
        )
    commit = start.base_commit
    branches = repository.branches_containing(commit)
    licence = read_licence(repository, commit)
    departed = start.is_exact and not start.reach.is_public_history
    ancestor = public_ancestor(repository, commit) if departed else None
    before = read_licence(repository, ancestor) if ancestor else None
    return OriginEvidence(
        commit=commit,
        branches=branches[:5],
        branch_count=len(branches),
        start=start,
        base=found.base,
        ancestor=ancestor,
        licence=licence.primary.licence if licence.primary else None,
        licence_files=licence,
        ancestor_licence=before.primary.licence if before and before.primary else None,
        licence_gate=settings.licence_gate,
        fidelity=found.fidelity,
        start_fidelity=start.start_fidelity,
        exceptions=tuple(file.path for file in licence.exceptions(settings.licences)),
        in_submodules=_within(session, licence.submodules),
        hosting=hosting,
        renamed_to=_renamed(repository.identity, hosting),
        consent=around.scopes,
    )


def decide(evidence: OriginEvidence, settings: QualifySettings) -> Judgement:
    """The first rule that speaks, in the order: repository, commit, session, licence, public history, what differs."""
    if evidence.fault is not None:
        return _no(ReasonCode.REPOSITORY_UNREACHABLE, evidence.fault)
    if evidence.consent is not None and REQUIRED_SCOPE not in evidence.consent:
        told = f"the contributor's consent does not cover {REQUIRED_SCOPE}"
        return _no(ReasonCode.CONSENT_MISMATCH, told)
    facts = evidence.hosting.facts
    if facts is not None and (facts.private or facts.visibility not in (None, "public")):
        return _no(ReasonCode.REPOSITORY_UNREACHABLE, f"the service says {facts.full_name} is not public")
    start = evidence.start
    if start is None:
        told = f"the start commit cannot be had ({evidence.missing}); hand in one that the repository gives"
        return _no(ReasonCode.COMMIT_NOT_FOUND, told)
    share = evidence.fidelity.share
    if share is not None and share < MIN_FIDELITY:
        told = f"only {share:.0%} of what the session shows of files matches the start commit"
        return _no(ReasonCode.SESSION_MISMATCH, told)
    if settings.licence_gate and (licence := _licence(evidence, settings)) is not None:
        return licence
    return _doubt(evidence, start) or _sure(evidence, start)


def _doubt(evidence: OriginEvidence, start: Start) -> Judgement | None:
    """What a person has to look at."""
    share, fidelity = start.start_fidelity, evidence.fidelity
    seen_otherwise = [*fidelity.differing, *fidelity.absent]
    if start.is_exact and not start.reach.is_public_history and evidence.ancestor is None:
        told = f"{start.base_commit} ({_HOW[start.reach.way]}) shares no history with any public branch"
        return _unsure(ReasonCode.COMMIT_NOT_PUBLIC, told, 0.5)
    if start.reach.way is Way.ID:
        told = f"only its id gives {start.base_commit}: force-pushed away, or never in the project but in a fork of it"
        return _unsure(ReasonCode.COMMIT_NOT_PUBLIC, told, 0.5)
    if start.reach.way is Way.LEFT:
        told = f"{start.base_commit} was public once, and its source no longer gives it: the project may have taken it back"
        return _unsure(ReasonCode.COMMIT_NOT_PUBLIC, told, 0.5)
    if fidelity.aside and not fidelity.checks:
        told = (
            "nothing shows that the session is about this repository: of what it saw of files, none is in the start commit, "
            f"and all may have been made since ({', '.join(fidelity.aside[:5])})"
        )
        return _unsure(ReasonCode.SESSION_MISMATCH, told, 0.5)
    if share is not None and share < 1:
        kept = {one.path for one in start.recovered}
        left = [path for path in seen_otherwise if path not in kept]
        told = f"the session saw other contents than the start has: {', '.join(left[:5])}"
        return _unsure(ReasonCode.SESSION_MISMATCH, told, share)
    if not start.is_exact and seen_otherwise:
        told = (
            f"the start commit cannot be had; {start.base_commit[:12]} is the nearest public one and has "
            f"{len(fidelity.matching)} of {fidelity.checks} contents that the session saw, the rest is from the session"
        )
        return _unsure(ReasonCode.COMMIT_NOT_FOUND, told, fidelity.share or 0.0)
    return None


def _sure(evidence: OriginEvidence, start: Start) -> Judgement:
    share = start.start_fidelity
    sure = 0.8 if share is None else min(0.99, 0.6 + 0.4 * (evidence.fidelity.share or 0.0))
    if not start.is_exact:
        sure = min(sure, 0.6)
    elif not start.reach.is_public_history:
        sure = min(sure, 0.75)
    where = "stands in for a commit that cannot be had" if not start.is_exact else _HOW.get(start.reach.way, "public")
    where += f", renamed to {evidence.renamed_to}" if evidence.renamed_to else ""
    more = f", {len(start.recovered)} uncommitted files recovered" if start.recovered else ""
    told = (
        f"commit {start.base_commit[:12]} ({where}), licence {evidence.licence or 'unknown'}, fidelity "
        f"{'not measured' if share is None else share}{more}"
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
        return _unsure(ReasonCode.LICENCE_UNSURE, told, 0.5)
    if not allowed(evidence.licence, settings.licences):
        return _no(ReasonCode.LICENCE_NOT_ALLOWED, f"{evidence.licence} is not in qualify.licences")
    if evidence.ancestor is not None and evidence.ancestor_licence != evidence.licence:
        told = (
            f"{evidence.licence} is what the start commit says, which is not in the project's own history; the project says "
            f"{evidence.ancestor_licence or 'nothing'} where it departs from it ({evidence.ancestor[:12]})"
        )
        return _unsure(ReasonCode.LICENCE_UNSURE, told, 0.5)
    if found.contradicted:
        told = f"the project's metadata declares {found.declared!r}, its licence file is {evidence.licence}"
        return _unsure(ReasonCode.LICENCE_UNSURE, told, 0.5)
    if evidence.exceptions:
        told = f"{evidence.licence} is not all: {', '.join(evidence.exceptions[:5])} except what lies there or is sold"
        return _unsure(ReasonCode.LICENCE_UNSURE, told, 0.5)
    if evidence.in_submodules:
        told = f"the session edits files of submodules, whose licence is elsewhere: {', '.join(evidence.in_submodules[:5])}"
        return _unsure(ReasonCode.LICENCE_UNSURE, told, 0.5)
    return None


def _within(session: Session, folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(folder for folder in folders if any(path.startswith(f"{folder}/") for path in session.edited_paths()))


def _renamed(identity: str, hosting: Asked) -> str | None:
    if hosting.facts is None:
        return None
    name = hosting.facts.full_name
    return name if not identity.casefold().endswith(f"/{name.casefold()}") else None


def _no(code: ReasonCode, message: str) -> Judgement:
    return Judgement(decision=Decision.FAIL, reason_code=code, confidence=0.95, message=message)


def _unsure(code: ReasonCode, message: str, confidence: float) -> Judgement:
    return Judgement(decision=Decision.UNSURE, reason_code=code, confidence=confidence, message=message)
