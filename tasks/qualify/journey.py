"""Journey: did the user say what they want, and how did they step in?"""

import re
from collections import Counter

from blocks.records import Decision, Qualifier, ReasonCode, Record
from blocks.repositories import Repository
from blocks.session import Intervention, Session, Speaker
from blocks.settings import QualifySettings
from tasks.qualify.course import Stuck, find_stuck, open_questions, specify
from tasks.qualify.ledger import asks, precedents_of, requirements_of
from tasks.qualify.steering import without_steering
from tasks.qualify.surroundings import ALONE, Surroundings
from tasks.qualify.verdict import Judgement, Requirement, Verdict, reach
from tasks.qualify.words import identifiers, mentioned_paths

MIN_WORDS = 4
WISH_WORDS = 6
"""From so many words on a known verb of wishing or failing is enough."""
CLEAR_WORDS = 9
"""From so many words on the prompt need name neither code nor a known verb."""

_INTENT = re.compile(
    r"\b(?:fix|add|implement|make|change|support|allow|handle|remove|raise|return|ignore|respect|stop|prevent|avoid|use|"
    r"correct|refactor|update|write|create|let|ensure|improve|convert|accept|reject|parse|should|must|want|need|expect\w*|"
    r"fails?|failing|crash\w*|broken|breaks?|wrong\w*|bug|error|exception|hangs?|missing|incorrect\w*|cannot|can't|"
    r"doesn't|does not|isn't|is not|won't|never|instead|unexpected\w*)\b",
    re.IGNORECASE,
)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class JourneyEvidence(Record):
    """What the session says about the user's part in it."""

    prompt_words: int
    names_intent: bool
    names_code: bool
    requirements: int
    precedents: int
    """Items that a test of the repository asks for."""
    additions: int
    """Wishes that only later turns made necessary."""
    observable: int
    """Requirements that name where they can be observed."""
    interventions: dict[str, int]
    """User steps after the first message, by kind."""
    agent_steps: int
    edits: int
    rejected_edits: int
    commands: int
    stuck: tuple[Stuck, ...] = ()
    open_questions: tuple[str, ...] = ()


def qualify_journey(
    session: Session, repository: Repository, settings: QualifySettings, around: Surroundings = ALONE
) -> Verdict:
    """Collect the evidence, with the requirement ledger, and have it judged."""
    del settings, around
    asked = requirements_of(session)
    items = asked + precedents_of(asked, repository, repository.resolve(session.start_commit))
    evidence = collect(session, items)
    return reach(
        Qualifier.JOURNEY,
        evidence,
        lambda: decide(evidence),
        requirements=items,
        instruction=specify(session, items),
    )


def collect(session: Session, items: tuple[Requirement, ...] | None = None) -> JourneyEvidence:
    """Counts over the session; `items` is its ledger. What is said to a judge counts for nothing."""
    items = requirements_of(session) if items is None else items
    text = asks(without_steering(session.prompt))
    kinds = Counter(step.intervention for step in session.steps if step.speaker is Speaker.USER and step.intervention)
    kinds.pop(Intervention.PROMPT, None)
    own = [item for item in items if item.precedent is None]
    return JourneyEvidence(
        prompt_words=len(re.findall(r"\w+", text)) + len(_WIDE.findall(text)) // 2,
        names_intent=bool(_INTENT.search(text)),
        names_code=bool(identifiers(text) or mentioned_paths(text)),
        requirements=len(own),
        precedents=len(items) - len(own),
        additions=len(specify(session, items).additions),
        observable=sum(item.surface is not None for item in own),
        interventions={kind.value: count for kind, count in sorted(kinds.items())},
        agent_steps=sum(step.speaker is Speaker.AGENT for step in session.steps),
        edits=len(session.edits),
        rejected_edits=sum(not edit.accepted for edit in session.edits),
        commands=len(session.commands),
        stuck=find_stuck(session),
        open_questions=open_questions(session, items),
    )


def decide(evidence: JourneyEvidence) -> Judgement:
    """Fails where the first message says too little to know what was wanted."""
    words = evidence.prompt_words
    if not words:
        return _unclear("the first message is empty, or holds only code and logs")
    if words < MIN_WORDS:
        return _unclear(f"the first message has {words} words")
    if words < CLEAR_WORDS and not (evidence.names_code or (evidence.names_intent and words >= WISH_WORDS)):
        return _unclear(f"the first message has {words} words and names neither a wish nor a piece of code")
    if not evidence.requirements:
        return _unclear("no sentence of the user asks for anything")
    stepped_in = sum(evidence.interventions.values())
    told = f"{evidence.requirements} requirements; the user stepped in {stepped_in} times"
    return Judgement(decision=Decision.PASS, reason_code=ReasonCode.OK, confidence=0.8, message=told)


def _unclear(message: str) -> Judgement:
    return Judgement(decision=Decision.FAIL, reason_code=ReasonCode.INTENT_UNCLEAR, confidence=0.9, message=message)
