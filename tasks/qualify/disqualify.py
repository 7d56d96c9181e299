"""Disqualifier: is there a reason not to make an environment of this, however well the rest fits?"""

from pathlib import Path

from blocks.path_kinds import PathKind, kind_of
from blocks.records import Decision, Qualifier, ReasonCode, Record
from blocks.repositories import Repository
from blocks.session import Session
from blocks.settings import QualifySettings
from tasks.qualify.benchmarks import LISTS, known_commits
from tasks.qualify.demands import Needs, read_needs
from tasks.qualify.duplicates import Duplicate, Likeness, find_duplicate
from tasks.qualify.ledger import requirements_of
from tasks.qualify.mechanical import mechanical
from tasks.qualify.outcome import MIN_STRENGTH
from tasks.qualify.project import MAX_BYTES, MAX_FILES, MAX_GENERATED, Project, read_project
from tasks.qualify.ranking import Ranked, rank_outcomes
from tasks.qualify.steering import Steering, find_steering
from tasks.qualify.substance import Substance, read_substance
from tasks.qualify.surroundings import ALONE, Surroundings
from tasks.qualify.verdict import Judgement, Verdict, reach

MIN_SOURCE_LINES = 3
"""Fewer changed lines of code are trivial, unless a test came with them: many a hard bug is mended in one line."""
NOT_SOURCE_LEAD = 1.25
"""So far ahead of every source change, a change of documentation or configuration is what settled the problem."""
TOY_MARKS = 2
"""So many marks of a toy or a generated app make it one."""
_MAX_LINES = 2000


class DisqualifierEvidence(Record):
    """What was looked at."""

    steering: Steering
    outcome: str | None
    """The commit whose substance was read: the best one that changes source."""
    substance: Substance | None
    not_source: str | None
    """A commit without source that explains the session better than any with source."""
    mechanical: str | None
    """What says that a tool made the outcome."""
    needs: Needs | None
    project: Project | None
    benchmarks: dict[str, tuple[str, ...]]
    """Start or outcome, where a known benchmark uses it, with the benchmark's name."""
    duplicate: Duplicate | None
    neighbours: int
    """Earlier candidates of the repository that were looked at."""
    observable: tuple[str, ...]
    """Surfaces the user named."""
    max_changed_lines: int


def qualify_disqualifier(
    session: Session, repository: Repository, settings: QualifySettings, around: Surroundings = ALONE
) -> Verdict:
    """Collect the evidence and have it judged."""
    evidence = collect(session, repository, settings, around)
    return reach(Qualifier.DISQUALIFIER, evidence, lambda: decide(evidence))


def collect(
    session: Session, repository: Repository, settings: QualifySettings, around: Surroundings = ALONE
) -> DisqualifierEvidence:
    """The evidence. Where no commit is plausible there is no substance: that is the outcome qualifier's finding."""
    start = repository.resolve(session.start_commit)
    best, other = _best(session, repository, settings)
    commit = best.commit if best else None
    leading = other.commit if other and _leads(other, best) else None
    neighbours = around.neighbours()
    used = known_commits(repository.identity, around.benchmarks) if settings.known_benchmarks else {}
    return DisqualifierEvidence(
        steering=find_steering(session, _texts(repository, [name for name in (commit, leading) if name])),
        outcome=commit,
        substance=read_substance(repository, commit) if commit else None,
        not_source=leading,
        mechanical=mechanical(repository.commit(commit)) if commit else None,
        needs=read_needs(repository, commit) if commit else None,
        project=read_project(repository, start) if start else None,
        benchmarks={name: used[name] for name in (start, commit) if name in used},
        duplicate=find_duplicate(
            session, neighbours, commit, lambda theirs: _commit(_best(theirs, repository, settings)[0])
        ),
        neighbours=len(neighbours),
        observable=tuple(dict.fromkeys(item.surface for item in requirements_of(session) if item.surface)),
        max_changed_lines=settings.max_changed_lines,
    )


def decide(evidence: DisqualifierEvidence) -> Judgement:
    """The first rule that speaks: what no look at the change can mend comes first."""
    steering = evidence.steering
    if steering.direct:
        return _no(ReasonCode.STEERING_TEXT, f"the user's text speaks to a judge ({steering.direct[0]})")
    fault = _known(evidence) or _project(evidence) or _change(evidence) or _container(evidence) or _observable(evidence)
    if fault is not None:
        return fault
    if (same := evidence.duplicate) is not None:  # by its outcome only: a person may prefer the later one
        told = f"{same.candidate_id} has another prompt, and the same commit settles both"
        return _judge(Decision.UNSURE, ReasonCode.DUPLICATE, told)
    doubts = (*steering.override, *steering.shown, *steering.repository)
    if doubts:
        told = f"text in session or repository may be meant for a judge ({doubts[0]})"
        return _judge(Decision.UNSURE, ReasonCode.STEERING_TEXT, told)
    return _judge(Decision.PASS, ReasonCode.OK, "no reason against it was found")


def against_outcome(
    repository: Repository, commit: str, settings: QualifySettings, lists: Path = LISTS
) -> Judgement | None:
    """What speaks against a commit that a person names as the outcome: the same rules as for one that was found.

    Duplicates and text meant for a judge are not looked for: a person has read it.
    """
    used = known_commits(repository.identity, lists) if settings.known_benchmarks else {}
    evidence = DisqualifierEvidence(
        steering=Steering(),
        outcome=commit,
        substance=read_substance(repository, commit),
        not_source=None,
        mechanical=mechanical(repository.commit(commit)),
        needs=read_needs(repository, commit),
        project=None,
        benchmarks={commit: used[commit]} if commit in used else {},
        duplicate=None,
        neighbours=0,
        observable=(),
        max_changed_lines=settings.max_changed_lines,
    )
    return _known(evidence) or _change(evidence) or _container(evidence)


def _known(evidence: DisqualifierEvidence) -> Judgement | None:
    for commit, names in evidence.benchmarks.items():
        return _no(ReasonCode.KNOWN_BENCHMARK, f"{commit[:12]} is a commit of {', '.join(names)}")
    same = evidence.duplicate
    if same is not None and same.likeness is not Likeness.OUTCOME:
        told = f"{same.candidate_id} has the same {same.likeness.value}"
        return _no(ReasonCode.DUPLICATE, told)
    return None


def _project(evidence: DisqualifierEvidence) -> Judgement | None:
    project = evidence.project
    if project is None:
        return None
    if project.files > MAX_FILES or project.bytes_total > MAX_BYTES:
        told = f"the start commit has {project.files} files of {project.bytes_total >> 20} MB"
        return _no(ReasonCode.PROJECT_TOO_LARGE, told)
    if project.generated_share > MAX_GENERATED:
        told = f"{project.generated_share:.0%} of the project's code is generated or vendored"
        return _no(ReasonCode.MOSTLY_GENERATED, told)
    if len(project.toy_marks) >= TOY_MARKS:
        return _no(ReasonCode.PROJECT_TOY, f"a toy or a generated app: {'; '.join(project.toy_marks)}")
    return None


def _change(evidence: DisqualifierEvidence) -> Judgement | None:
    if evidence.not_source is not None:
        told = f"{evidence.not_source[:10]} explains the session best and changes no source"
        return _no(ReasonCode.CHANGE_NOT_SOURCE, told)
    substance, most = evidence.substance, evidence.max_changed_lines
    if substance is None:
        return None
    if substance.all_lines > most:
        told = f"the outcome changes {substance.all_lines} lines, more than qualify.max_changed_lines = {most}"
        return _no(ReasonCode.CHANGE_TOO_LARGE, told)
    if evidence.mechanical is not None:
        return _no(ReasonCode.CHANGE_TRIVIAL, f"a tool made the outcome: {evidence.mechanical}")
    if substance.formatting_only:
        return _no(ReasonCode.CHANGE_TRIVIAL, "the outcome changes only how source is written")
    if substance.version_only:
        return _no(ReasonCode.CHANGE_TRIVIAL, "the outcome changes only a version")
    if substance.code_lines < MIN_SOURCE_LINES and not substance.touches_tests:
        told = f"the outcome changes {substance.code_lines} lines of code and no test"
        return _no(ReasonCode.CHANGE_TRIVIAL, told)
    if substance.made_lines > MAX_GENERATED * (substance.made_lines + substance.source_lines):
        return _no(ReasonCode.MOSTLY_GENERATED, f"{substance.made_lines} lines of the outcome are in generated files")
    return None


def _container(evidence: DisqualifierEvidence) -> Judgement | None:
    needs = evidence.needs
    if needs is None:
        return None
    if needs.tests_need:
        first = needs.tests_need[0]
        told = f"the tests of the outcome need a {first.demand.value} ({first.path}: {first.text})"
        return _no(ReasonCode.NOT_IN_CONTAINER, told)
    if needs.all_bound and not needs.touches_tests:
        first = needs.found[0]
        told = f"all of the outcome needs a {first.demand.value} ({first.path}: {first.text}), and no test came with it"
        return _no(ReasonCode.NOT_IN_CONTAINER, told)
    return None


def _observable(evidence: DisqualifierEvidence) -> Judgement | None:
    project, substance = evidence.project, evidence.substance
    if project is None or substance is None or project.test_files or substance.touches_tests or evidence.observable:
        return None
    told = "there are no tests, none came with the outcome, and the user names nothing that can be observed"
    return _no(ReasonCode.NOTHING_OBSERVABLE, told)


def _best(session: Session, repository: Repository, settings: QualifySettings) -> tuple[Ranked | None, Ranked | None]:
    """The best plausible commit with source, and the best one without."""
    ranked = [item for item in rank_outcomes(session, repository, settings) if item.evidence.strength >= MIN_STRENGTH]
    best = next((item for item in ranked if item.evidence.source), None)
    return best, next((item for item in ranked if not item.evidence.source), None)


def _commit(ranked: Ranked | None) -> str | None:
    return ranked.commit if ranked else None


def _texts(repository: Repository, commits: list[str]) -> list[tuple[str, str]]:
    """What a commit would put before a judge: its message, the names of its files, its added lines."""
    texts = []
    for sha in commits:
        texts.append((f"commit {sha[:10]}", repository.commit(sha).message))
        edits = repository.edited_lines(sha)
        texts += [("file name", path.replace("_", " ").replace("-", " ").replace("/", "\n")) for path in edits]
        for path, edit in edits.items():
            if kind_of(path) is not PathKind.GENERATED:
                added = [line for hunk in edit.hunks for line in hunk.added][:_MAX_LINES]
                texts.append((path, "\n".join(added)))
    return texts


def _leads(other: Ranked, best: Ranked | None) -> bool:
    return best is None or other.score >= NOT_SOURCE_LEAD * best.score


def _no(code: ReasonCode, message: str) -> Judgement:
    return _judge(Decision.FAIL, code, message)


def _judge(decision: Decision, code: ReasonCode, message: str) -> Judgement:
    sure = 0.5 if decision is Decision.UNSURE else 0.9
    return Judgement(decision=decision, reason_code=code, confidence=sure, message=message)
