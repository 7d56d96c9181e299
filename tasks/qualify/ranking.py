"""Ranks the commits after the start by how well they explain the session.

Every signal is 0..1. Rare names weigh more than common ones (inverse document frequency over the window and the messages
before the start); what the user named and no commit does counts as missing. A session with edits is judged by paths and
lines as well; a bare prompt by its words alone.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from blocks.records import Record
from blocks.repositories import LineEdits, Repository
from blocks.session import Session
from blocks.settings import QualifySettings
from tasks.qualify.history import Candidate, History, read_history
from tasks.qualify.signals import Signals, read_signals, significant
from tasks.qualify.texts import Text, read_texts, said
from tasks.qualify.words import references, words

BACKGROUND = 400
"""Messages before the start that tell which words are common in this project."""

_FIX_WORDS = frozenset(words("fix bug resolve correct close regression"))
_WITH_EDITS = {"paths": 0.30, "lines": 0.20, "names": 0.20, "message": 0.20, "focus": 0.10}
_BARE = {"paths": 0.10, "lines": 0.0, "names": 0.38, "message": 0.38, "focus": 0.14}
_PRIORS = {"tests": 0.05, "fix": 0.03, "near": 0.02}
_REFERENCE = 0.3
_LITERALS = 0.25
"""What values add that the user copied and the commit's added lines hold; their absence takes nothing."""
_ENOUGH_LITERALS = 6.0
"""Rarity from which the shared values count in full: two that one commit of twenty holds."""


class OutcomeEvidence(Record):
    """Why a commit has its rank."""

    subject: str
    committed_at: str
    family: str
    source: bool
    """False where it changes no source: such a commit is no outcome."""
    reverted_by: str | None
    strength: float
    """The score without what any fix would get (tests, wording, nearness)."""
    paths: float
    lines: float
    names: float
    message: float
    focus: float
    literals: float
    references: tuple[str, ...]
    pulls: tuple[int, ...] = ()
    """Pull requests that hold it, where the hosting service could be asked."""
    matched: tuple[str, ...]
    """The rarest things both sides name."""


class Ranked(Record):
    """A candidate with its scores."""

    commit: str
    score: float
    overlap: float
    touches_tests: bool
    evidence: OutcomeEvidence


class Ranking(NamedTuple):
    """The ranked commits, and what they were ranked from; no signals where the start commit is unknown."""

    ranked: tuple[Ranked, ...]
    history: History
    signals: Signals | None


def rank_outcomes(session: Session, repository: Repository, settings: QualifySettings) -> tuple[Ranked, ...]:
    """All commits of the window that share anything with the session, best first; also those without source, marked.

    Empty where the start commit is unknown or nothing fits.
    """
    return rank(session, repository, settings).ranked


def with_references(item: Ranked, found: tuple[str, ...], pulls: tuple[int, ...]) -> Ranked:
    """The same commit, knowing its pull requests; issues that only they name raise the score as those of a message do."""
    shared = tuple(sorted({*item.evidence.references, *found}))
    strength, score = item.evidence.strength, item.score
    if shared and not item.evidence.references:
        strength = round(min(1.0, strength + _REFERENCE), 4)
        score = round(score + (strength - item.evidence.strength) / (1 + sum(_PRIORS.values())), 4)
    evidence = item.evidence.model_copy(update={"references": shared, "pulls": pulls, "strength": strength})
    return item.model_copy(update={"evidence": evidence, "score": score})


def rank(session: Session, repository: Repository, settings: QualifySettings) -> Ranking:
    """As `rank_outcomes`, with what it was done from."""
    start = repository.resolve(session.start_commit)
    if start is None:
        return Ranking((), History(candidates=(), reverted={}), None)
    history = read_history(repository, start, settings.window_days)
    signals = read_signals(session, repository, start)
    texts, edits = read_texts(history.candidates, repository, signals)
    earlier = [said(commit.message) for commit in repository.commits_before(start, limit=BACKGROUND)]
    rarity = _rarity(signals, texts, earlier)
    rare_paths = _path_rarity(history.candidates)
    rare_values = _value_rarity(texts)
    begin = repository.commit(start).committed_at
    ranked = []
    for candidate in history.candidates:
        sha = candidate.commit.sha
        if sha in texts:
            days = (candidate.commit.committed_at - begin).total_seconds() / 86_400
            ranked.append(
                _weigh(
                    candidate,
                    signals,
                    texts[sha],
                    edits[sha],
                    rarity,
                    rare_paths,
                    rare_values,
                    days,
                    history.reverted.get(sha),
                )
            )
    ranked = [item for item in ranked if item.evidence.strength > 0]
    ordered = tuple(sorted(ranked, key=lambda item: (-item.score, item.evidence.committed_at, item.commit)))
    return Ranking(ordered, history, signals)


def _rarity(signals: Signals, texts: Mapping[str, Text], earlier: Sequence[frozenset[str]]) -> dict[str, float]:
    counts = dict.fromkeys(signals.told, 0)
    documents = [text.message | text.diff | text.paths for text in texts.values()]
    for document in (*documents, *earlier):
        for term in document:
            counts[term] = counts.get(term, 0) + 1
    everything = len(documents) + len(earlier) + 1
    return {term: max(0.0, math.log(everything / (count + 0.5))) for term, count in counts.items()}


def _path_rarity(candidates: tuple[Candidate, ...]) -> dict[str, float]:
    counts: dict[str, int] = {}
    for candidate in candidates:
        for change in candidate.changes:
            counts[change.path] = counts.get(change.path, 0) + 1
    return {path: math.log(1 + len(candidates) / count) for path, count in counts.items()}


def _value_rarity(texts: Mapping[str, Text]) -> dict[str, float]:
    counts: dict[str, int] = {}
    for text in texts.values():
        for value in text.literals:
            counts[value] = counts.get(value, 0) + 1
    return {value: math.log((len(texts) + 20) / (count + 0.5)) for value, count in counts.items()}


def _weigh(
    candidate: Candidate,
    signals: Signals,
    text: Text,
    edits: Mapping[str, LineEdits],
    rarity: Mapping[str, float],
    rare_paths: Mapping[str, float],
    rare_values: Mapping[str, float],
    days: float,
    reverted_by: str | None,
) -> Ranked:
    changed = frozenset(change.path for change in candidate.changes)
    named = _named_paths(signals, changed)
    overlap = len(changed & signals.edited) / len(signals.edited) if signals.edited else float(bool(named))
    scores = {
        "paths": _paths(candidate, signals, changed, named, rare_paths),
        "lines": _lines(signals, edits),
        "names": _names(signals, text, rarity),
        # A squash lists its steps below its subject: either may be what speaks of the problem.
        "message": max(_cosine(signals.told, said, rarity) for said in (text.subject, text.message)),
        "focus": _cosine(signals.told, text.diff | text.message, rarity),
        "literals": _literals(text, rare_values),
    }
    shared = tuple(sorted(signals.references & references(candidate.message)))
    weights = (_WITH_EDITS if signals.edited else _BARE) | {"literals": _LITERALS}
    strength = min(1.0, sum(weights[name] * score for name, score in scores.items()) + _REFERENCE * bool(shared))
    priors = {
        "tests": float(candidate.touches_tests),
        "fix": float(bool(_FIX_WORDS & words(candidate.message))),
        "near": math.exp(-max(0.0, days) / 30),
    }
    score = (strength + sum(_PRIORS[name] * prior for name, prior in priors.items())) / (1 + sum(_PRIORS.values()))
    matched = sorted(signals.told & (text.message | text.diff), key=lambda term: (-rarity.get(term, 0.0), term))
    return Ranked(
        commit=candidate.commit.sha,
        score=round(score, 4),
        overlap=round(overlap, 4),
        touches_tests=candidate.touches_tests,
        evidence=OutcomeEvidence(
            subject=candidate.commit.subject[:200],
            committed_at=candidate.commit.committed_at.isoformat(),
            family=candidate.family,
            source=bool(candidate.source_paths),
            reverted_by=reverted_by,
            strength=round(strength, 4),
            **{name: round(value, 4) for name, value in scores.items()},
            references=shared,
            matched=tuple(matched[:8]),
        ),
    )


def _named_paths(signals: Signals, changed: frozenset[str]) -> frozenset[str]:
    return frozenset(path for path in changed for name in signals.mentioned if f"/{path}".endswith(f"/{name}"))


def _paths(
    candidate: Candidate,
    signals: Signals,
    changed: frozenset[str],
    named: frozenset[str],
    rarity: Mapping[str, float],
) -> float:
    """Share of the session's paths that the commit touches, weighed by how rarely they change, and the other way round."""
    if not signals.edited:
        return float(bool(named))
    wanted = {path: rarity.get(path, 0.0) for path in signals.edited}
    total = sum(wanted.values())
    recall = sum(weight for path, weight in wanted.items() if path in changed) / total if total else 0.0
    source = candidate.source_paths
    known = signals.edited | signals.seen | named
    precision = len(source & known) / len(source) if source else 0.0
    return 0.6 * recall + 0.3 * precision * bool(recall or source & signals.seen) + 0.1 * bool(named)


def _lines(signals: Signals, edits: Mapping[str, LineEdits]) -> float:
    """How much of the smaller side's removed (and added) lines both sides share, in the paths the session edited."""
    removed = significant({line for path in signals.edited & edits.keys() for line in edits[path].removed})
    added = significant({line for path in signals.edited & edits.keys() for line in edits[path].added})
    return 0.7 * _contained(removed, signals.removed) + 0.3 * _contained(added, signals.added)


def _contained(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


def _names(signals: Signals, text: Text, rarity: Mapping[str, float]) -> float:
    """How much of what the user named stands in the commit. Large commits name everything, so their lines count less."""
    breadth = min(1.0, math.sqrt(250 / max(1, len(text.diff))))
    total = found = 0.0
    for term in signals.told:
        weight = rarity.get(term, 0.0) * (2.0 if term in signals.identifiers else 1.0)
        total += weight
        found += weight * _place(term, text, breadth)
    return found / total if total else 0.0


def _place(term: str, text: Text, breadth: float) -> float:
    if term in text.message:
        return 1.0
    if term in text.paths:
        return 0.9
    if term in text.tests:
        return 0.8 * math.sqrt(breadth)
    return 0.7 * breadth if term in text.diff else 0.0


def _literals(text: Text, rarity: Mapping[str, float]) -> float:
    return min(1.0, sum(rarity[value] for value in text.literals) / _ENOUGH_LITERALS)


def _cosine(told: frozenset[str], theirs: frozenset[str], rarity: Mapping[str, float]) -> float:
    """Of two sets of terms, weighed by rarity: how much of either side is about the other."""

    def norm(terms: frozenset[str]) -> float:
        return sum(rarity.get(term, 0.0) ** 2 for term in terms)

    both = math.sqrt(norm(told) * norm(theirs))
    return norm(told & theirs) / both if both else 0.0
