"""Text that talks to a judge instead of about the problem. The rules cannot be talked to; the models to come could."""

import re

from blocks.records import Record
from blocks.session import Session, Speaker

_JUDGE = r"(?:ai |llm |automated )?(?:judge|grader|qualifier|evaluator|reward model|envmill)s?"
_VERDICT = r"(?:pass(?:ed|es)?|approved?|accept(?:ed)?|qualified|valid|full (?:marks|score))"
_DIRECT = re.compile(
    rf"(?:^|[.!?]\s+)(?:dear|attention|to|note (?:to|for)|instructions? (?:to|for)),? (?:the |any |all )?{_JUDGE}\s*[:,]"
    rf"|\b(?:you are|act as) (?:the|an?) {_JUDGE}\b"
    rf"|\b{_JUDGE} (?:must|should|shall|has to|have to) [^.\n]{{0,40}}\b{_VERDICT}\b",
    re.IGNORECASE | re.MULTILINE,
)
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override) (?:all |any |the |your |every )*"
    r"(?:previous|prior|above|earlier|preceding|system) (?:instructions?|prompts?|rules?|messages?)\b"
    rf"|\b(?:mark|rate|score|grade|classify|label|treat) (?:this|the) (?:session|candidate|contribution|submission"
    rf"|environment|trajectory|conversation|outcome)\b[^.\n]{{0,40}}\b{_VERDICT}\b"
    r"|[\"']decision[\"']\s*:\s*[\"']pass[\"']"
    r"|<\|im_(?:start|end)\|>|<\|(?:system|assistant|endoftext)\|>|\[/?INST\]|\bsystem prompt override\b",
    re.IGNORECASE,
)
_MAX_TEXT = 200_000
_SHOWN = 120


class Steering(Record):
    """What was found, each as `step: text`."""

    direct: tuple[str, ...] = ()
    """The user speaks to a judge."""
    override: tuple[str, ...] = ()
    """The user tells a model to forget its instructions, or names the verdict."""
    shown: tuple[str, ...] = ()
    """The same in what the agent wrote or was shown (files, outputs): often only the repository's own text."""


def find_steering(session: Session) -> Steering:
    """Look through every step. What the tool itself put in (system steps) is left out."""
    direct: list[str] = []
    override: list[str] = []
    shown: list[str] = []
    for step in session.steps:
        if step.speaker is Speaker.USER:
            direct += _hits(_DIRECT, step.text, step.index)
            override += _hits(_OVERRIDE, step.text, step.index)
        elif step.speaker is Speaker.AGENT:
            shown += _hits(_DIRECT, step.text, step.index)
        for observation in step.observations:
            shown += _hits(_DIRECT, observation.content, step.index)
    return Steering(direct=tuple(direct[:5]), override=tuple(override[:5]), shown=tuple(shown[:5]))


def speaks_to_judge(text: str) -> bool:
    """Whether a text talks to a judge, or tells a model what to say."""
    return bool(_DIRECT.search(text[:_MAX_TEXT]) or _OVERRIDE.search(text[:_MAX_TEXT]))


def _hits(pattern: re.Pattern[str], text: str, step: int) -> list[str]:
    return [f"{step}: {match[0][:_SHOWN]}" for match in pattern.finditer(text[:_MAX_TEXT])]
