"""Why a candidate passed qualify or fell, on one screen: for the terminal and as Markdown for the Prefect UI. No Prefect here.

Everything of a session or repository is hostile: it stands in code, and holds no control characters.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from blocks.records import CandidateRow, OutcomeRow, Qualifier, RequirementRow, VerdictRow

_WIDTH = 150
_MAX_ITEMS = 8
_MAX_WISH = 240
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\U000e0000-\U000e007f]")
_MARKS = {"pass": "✓", "fail": "✗", "unsure": "?"}
Evidence = Mapping[str, object]


@dataclass(frozen=True)
class Judged:
    """What qualify wrote about one candidate."""

    candidate: CandidateRow
    status: str
    message: str
    """Of the phase run."""
    verdicts: Sequence[VerdictRow]
    outcomes: Sequence[OutcomeRow]
    requirements: Sequence[RequirementRow]


def lines(judged: Judged) -> list[str]:
    """The page as plain lines, each at most one screen wide."""
    candidate = judged.candidate
    head = [
        f"{candidate.candidate_id}  {judged.status}  ({candidate.source})",
        f"{candidate.repository} at {candidate.start_commit[:12]}",
        f"asked: {_short(candidate.instruction, _MAX_WISH)}",
        "",
    ]
    found: list[str] = []
    for verdict in _ordered(judged.verdicts):
        found.append(_headline(verdict))
        found += [f"    {fact}" for fact in _facts(verdict)]
    found += ["", "requirements:", *(f"    {line}" for line in _wishes(judged.requirements))]
    found += ["outcomes:", *(f"    {line}" for line in _ranks(judged.outcomes))]
    return [_short(line, 2 * _WIDTH) if line.startswith("asked") else _cut(line) for line in (*head, *found)]


def markdown(judged: Judged) -> str:
    """The same page as Markdown."""
    verdicts = "\n".join(
        f"| {_MARKS.get(verdict.decision, '')} {verdict.qualifier} | {verdict.decision} | `{verdict.reason_code}` | "
        f"{verdict.judge} | {verdict.confidence:g} |"
        for verdict in _ordered(judged.verdicts)
    )
    facts = "\n\n".join(
        f"**{verdict.qualifier}** ({verdict.judge})\n\n" + "\n".join(f"- {_code(fact)}" for fact in _facts(verdict))
        for verdict in _ordered(judged.verdicts)
    )
    candidate = judged.candidate
    return "\n\n".join(
        (
            f"# {_code(candidate.candidate_id)}: {judged.status}",
            f"{_code(candidate.repository)} at {_code(candidate.start_commit[:12])}",
            f"Asked: {_code(_short(candidate.instruction, _MAX_WISH))}",
            f"| qualifier | decision | reason | judge | confidence |\n|---|---|---|---|---|\n{verdicts}",
            facts,
            "**requirements**\n\n" + "\n".join(f"- {_code(line)}" for line in _wishes(judged.requirements)),
            "**outcomes**\n\n" + "\n".join(f"- {_code(line)}" for line in _ranks(judged.outcomes)),
        )
    )


def _ordered(verdicts: Sequence[VerdictRow]) -> list[VerdictRow]:
    order = list(Qualifier)
    return sorted(verdicts, key=lambda one: (order.index(one.qualifier), one.judge == "human"))


def _headline(verdict: VerdictRow) -> str:
    by = verdict.judge if verdict.model is None else f"{verdict.judge} {verdict.model}"
    told = f"{_MARKS.get(verdict.decision, ' ')} {verdict.qualifier:<13} {verdict.decision:<7} {verdict.reason_code}"
    return f"{told}  ({by}, confidence {verdict.confidence:g})"


def _facts(verdict: VerdictRow) -> list[str]:
    evidence = json.loads(verdict.evidence)
    if not isinstance(evidence, dict):
        return []
    if verdict.judge == "human":
        return [f"{evidence.get('by')}: {evidence.get('because')}", *_named(evidence, "outcome")]
    readers = {
        Qualifier.ORIGIN: _origin,
        Qualifier.JOURNEY: _journey,
        Qualifier.OUTCOME: _outcome,
        Qualifier.DISQUALIFIER: _disqualifier,
    }
    told = [f"{fact}" for fact in readers[verdict.qualifier](evidence) if fact]
    return [*told, *_model(evidence)]


def _origin(evidence: Evidence) -> Iterable[str]:
    yield from _named(evidence, "fault", "missing")
    branches = ", ".join(map(str, _list(evidence, "branches")[:3]))
    yield f"commit {str(evidence.get('commit'))[:12]} on {evidence.get('branch_count')} branches ({branches})"
    fidelity = _dict(evidence, "fidelity")
    counts = ", ".join(f"{len(_list(fidelity, name))} {name}" for name in ("matching", "differing", "absent"))
    yield f"licence {evidence.get('licence')}; fidelity {evidence.get('start_fidelity')} ({counts})"
    files = _list(_dict(evidence, "licence_files"), "files")
    for file in files[:3]:
        if isinstance(file, dict):
            yield f"{file.get('path')}: {file.get('askalono')} {file.get('score')}, {file.get('spdx_matcher')}"
    yield from _named(evidence, "exceptions", "in_submodules", "renamed_to", "consent")
    yield f"{_dict(evidence, 'hosting').get('said', '')}"


def _journey(evidence: Evidence) -> Iterable[str]:
    yield (
        f"{evidence.get('prompt_words')} words; {evidence.get('requirements')} requirements, {evidence.get('observable')} of "
        f"them observable, {evidence.get('additions')} from later turns; {evidence.get('precedents')} held by tests"
    )
    yield f"stepped in: {evidence.get('interventions')}; {evidence.get('edits')} edits, {evidence.get('commands')} commands"
    for stuck in _list(evidence, "stuck")[:3]:
        if isinstance(stuck, dict):
            yield f"stuck at step {stuck.get('first_step')}: {stuck.get('what')}; unstuck by {stuck.get('unstuck_by')}"
    for question in _list(evidence, "open_questions")[:3]:
        yield f"open: {question}"


def _outcome(evidence: Evidence) -> Iterable[str]:
    best = _dict(evidence, "best")
    if not best:
        yield f"none of {evidence.get('considered')} commits within {evidence.get('window_days')} days fits"
        return
    details = _dict(best, "evidence")
    yield f"{str(best.get('commit'))[:12]} {details.get('subject')}"
    yield (
        f"strength {details.get('strength')}, margin {evidence.get('margin')} among {evidence.get('considered')}; shared: "
        f"{', '.join(map(str, _list(details, 'matched')[:6]))}"
    )
    rival = _dict(evidence, "rival")
    if rival:
        yield f"next: {str(rival.get('commit'))[:12]} {_dict(rival, 'evidence').get('subject')} ({rival.get('score')})"
    yield from _named(details, "reverted_by", "references", "pulls")
    parts = [part for part in _list(evidence, "parts") if isinstance(part, dict)]
    along = [f"{part.get('path')}:{part.get('line')} ({part.get('why')})" for part in parts if not part.get("belongs")]
    yield f"{len(parts) - len(along)} hunks belong to it, {len(along)} came along" + (f": {along[0]}" if along else "")
    for follow in _list(evidence, "follow_ups")[:2]:
        if isinstance(follow, dict):
            yield f"followed by {str(follow.get('commit'))[:12]} {follow.get('subject')} ({follow.get('why')})"


def _disqualifier(evidence: Evidence) -> Iterable[str]:
    steering = _dict(evidence, "steering")
    for kind, found in steering.items():
        if found:
            yield f"steering, {kind}: {found[0] if isinstance(found, list) else found}"
    substance, project = _dict(evidence, "substance"), _dict(evidence, "project")
    if substance:
        yield (
            f"the outcome changes {substance.get('code_lines')} lines of code, {substance.get('all_lines')} in all, "
            f"{'with' if substance.get('touches_tests') else 'without'} tests"
        )
    if project:
        yield (
            f"project: {project.get('source_files')} source files, {project.get('test_files')} test files, "
            f"{project.get('commits')} commits read, {len(_list(project, 'toy_marks'))} marks of a toy"
        )
    for mark in _list(project, "toy_marks"):
        yield f"toy: {mark}"
    needs = _list(_dict(evidence, "needs"), "tests_need") or _list(_dict(evidence, "needs"), "found")
    for need in needs[:2]:
        if isinstance(need, dict):
            yield f"needs a {need.get('demand')}: {need.get('path')}: {need.get('text')}"
    yield from _named(evidence, "mechanical", "not_source", "benchmarks")
    duplicate = _dict(evidence, "duplicate")
    if duplicate:
        yield f"like {duplicate.get('candidate_id')} by its {duplicate.get('likeness')}"


def _model(evidence: Evidence) -> list[str]:
    told = _dict(evidence, "model_judge")
    return [f"model: {name}: {value}" for name, value in told.items() if value not in (None, [], {}, "")][:4]


def _named(evidence: Evidence, *names: str) -> list[str]:
    return [f"{name.replace('_', ' ')}: {_plain(evidence[name])}" for name in names if evidence.get(name)]


def _wishes(requirements: Sequence[RequirementRow]) -> list[str]:
    told = []
    for row in requirements[:_MAX_ITEMS]:
        where = row.precedent or f"turn {row.turn}"
        told.append(f"{row.item} [{row.kind}, {where}] {row.surface or 'no surface'}: {row.quote}")
    more = len(requirements) - len(told)
    return [*told, *([f"and {more} more"] if more > 0 else [])] or ["none"]


def _ranks(outcomes: Sequence[OutcomeRow]) -> list[str]:
    ordered = sorted(outcomes, key=lambda row: row.rank)[:3]
    return [f"{row.rank} {row.commit[:12]} score {row.score:g} {_subject(row)}" for row in ordered] or ["none"]


def _subject(row: OutcomeRow) -> str:
    found = json.loads(row.evidence)
    return str(found.get("subject", "")) if isinstance(found, dict) else ""


def _dict(evidence: Evidence, name: str) -> dict[str, object]:
    found = evidence.get(name)
    return found if isinstance(found, dict) else {}


def _list(evidence: Evidence, name: str) -> list[object]:
    found = evidence.get(name)
    return found if isinstance(found, list) else []


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _cut(line: str) -> str:
    return _short(line, _WIDTH) if line.strip() else ""


def _short(text: str, most: int) -> str:
    indent = len(text) - len(text.lstrip(" "))
    flat = text[:indent] + " ".join(_CONTROL.sub("", text).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _code(text: str) -> str:
    flat = _short(text, 2 * _WIDTH).replace("`", "'").replace("|", "¦")
    return f"`{flat}`" if flat else "` `"
