"""Text that talks to a judge instead of about the problem: in the session, and in what a repository puts before a judge.

The rules cannot be talked to, but what is said to a judge must not count as the user's wish either, nor as what a commit is
about: `without_steering` takes it out. Models read the same text as data.
"""

import re
from collections.abc import Iterable, Sequence

from blocks.records import Record
from blocks.session import Session, Speaker

_JUDGE = (
    r"(?:(?:ai|llm|automated|automatic|candidate|quality|session) )?(?:judges?|graders?|qualifiers?|evaluators?"
    r"|reward models?"
    r"|envmill|disqualifier|origin validator|journey analy[sz]er|outcome finder)"
)
_VERDICT = (
    r"(?:pass(?:ed|es|ing)?|approved?|accept(?:ed|able)?|qualif(?:y|ied|ies)|valid|full (?:marks|score)"
    r"|eligible|admitted|ok)"
)
_THING = (
    r"(?:session|candidate|contribution|submission|environment|trajectory|conversation|outcome|verdict|repository"
    r"|licen[sc]e"
    r"|origin|journey|duplicate|benchmark)"
)
_DIRECT = re.compile(
    rf"(?:^|[.!?:;>\])]\s+|[#*/<!-]\s*)(?:dear|attention|attn|hey|hello|hi|to|for|note (?:to|for)"
    rf"|(?:special )?instructions? (?:to|for)|message (?:to|for)"
    rf"|@)[, ]*(?:the |any |all |every |whoever is the )?{_JUDGE}\b\s*[:,.!\-—]"
    rf"|\b(?:you are|you're|act as|as|you, as) (?:now )?(?:the|an?) {_JUDGE}\b(?! for\b)"
    rf"|\b(?:the|every|any|all) {_JUDGE} (?:must|should|shall|has to|have to|will|is to|may"
    rf"|needs to) [^.\n]{{0,60}}\b{_VERDICT}\b[^.\n]{{0,40}}"
    rf"\b(?:{_THING}|this|it|score)\b"
    rf"|\b{_JUDGE} (?:must|should|shall|has to|have to|will|is to) (?:always )?(?:{_VERDICT}|return|answer|output|say"
    rf"|decide|rate|mark|score)\b"
    rf"(?! (?:none|null|an? |the (?:value|string|input|test)))",
    re.IGNORECASE | re.MULTILINE,
)
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|skip) (?:all |any |the |your |every |of )*"
    r"(?:previous|prior|above|earlier|preceding|system|other|safety|given) (?:instructions?|prompts?|rules?|messages?"
    r"|guidelines?|checks?)\b"
    rf"|\b(?:mark|rate|score|grade|classify|label|treat|count|report|record|consider) (?:this|the"
    rf"|that) {_THING}\b[^.\n]{{0,50}}\b{_VERDICT}\b"
    rf"|\bthis {_THING} (?:is|has been|was) (?:already |pre-?|fully )?(?:approved|qualified|verified|reviewed and"
    rf"|accepted|cleared)\b"
    r"|[\"']?\b(?:decision|verdict)[\"']?\s*[:=]\s*[\"']?(?:pass|approve|accept|qualified)\w*"
    r"|[\"']?\breason_code[\"']?\s*[:=]\s*[\"']?ok\b|[\"']?\bconfidence[\"']?\s*[:=]\s*(?:1(?:\.0+)?|0?\.9\d*)\b"
    r"|<\|?(?:im_(?:start|end)|system|assistant|endoftext|start_header_id|end_header_id|eot_id)\|?>|\[/?INST\]"
    r"|<</?SYS>>"
    r"|</?(?:system|assistant|instructions?|tool_result|function_results?|data)>|^#{2,} *(?:system|new instructions?"
    r"|instruction)s?\b *:?\s*$"
    r"|^(?:system|assistant)\s*:\s|\bsystem prompt override\b|\b(?:new|updated|real) (?:system )?instructions?\s*:"
    rf"|\b(?:do not|don't|never) (?:fail|reject|disqualify|flag) (?:this|the) {_THING}\b|\b(?:must"
    rf"|should) not be (?:rejected|disqualified|failed)\b"
    r"|\b(?:rank|choose|pick|select) this (?:commit|pull request|change|one) (?:first|as (?:the )?outcome)\b"
    r"|^[^\w\n]*(?:end|begin(?:ning)?|start) of (?:the )?(?:\w+ ){0,2}"
    r"(?:data|evidence|session|input|conversation|transcript)\b[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_HIDDEN = re.compile("[\u200b\u200c\u2060\u2061-\u2064\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]{3,}")
"""Marks nobody sees: three in a row carry something. (Emoji join with U+200D, which is not among them.)"""
_ZERO_WIDTH = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_SENTENCE_END = re.compile(r"[.!?]\s+")
_LEAD = re.compile(r"\W+(?=\w)")
"""What a match may begin with and is not yet what is said: the end of the sentence before, a comment's mark."""
_MAX_TEXT = 200_000
_SHOWN = 120


class Steering(Record):
    """What was found, each as `place: text`; a place is a step, a path or a commit."""

    direct: tuple[str, ...] = ()
    """The user speaks to a judge."""
    override: tuple[str, ...] = ()
    """The user tells a model to forget its instructions, or names the verdict."""
    shown: tuple[str, ...] = ()
    """The same in what the agent wrote or was shown (files, outputs): often only the repository's own text."""
    repository: tuple[str, ...] = ()
    """The same in the outcome: its message, names and added lines."""


def find_steering(session: Session, texts: Sequence[tuple[str, str]] = ()) -> Steering:
    """Look through every step, and the (place, text) pairs of the repository. What the tool itself put in is left out."""
    direct: list[str] = []
    override: list[str] = []
    shown: list[str] = []
    for step in session.steps:
        if step.speaker is Speaker.USER:
            direct += _hits((_DIRECT,), step.text, str(step.index))
            override += _hits((_OVERRIDE, _HIDDEN), step.text, str(step.index))
        elif step.speaker is Speaker.AGENT:
            shown += _hits((_DIRECT,), step.text, str(step.index))
        for observation in step.observations:
            shown += _hits((_DIRECT, _OVERRIDE, _HIDDEN), observation.content, str(step.index))
    for command in session.commands:
        shown += _hits((_DIRECT, _OVERRIDE, _HIDDEN), command.output, str(command.step))
    for seen in session.seen_files:
        shown += _hits((_DIRECT, _OVERRIDE, _HIDDEN), f"{seen.path}\n{seen.content}", f"{seen.step}, {seen.path}")
    repository = [hit for place, text in texts for hit in _hits((_DIRECT, _OVERRIDE, _HIDDEN), text, place)]
    return Steering(
        direct=_few(direct), override=_few(override), shown=_few(dict.fromkeys(shown)), repository=_few(repository)
    )


def steers(text: str) -> bool:
    """Whether any of it is meant for a judge."""
    return bool(_hits((_DIRECT, _OVERRIDE, _HIDDEN), text, ""))


def without_steering(text: str) -> str:
    """The text up to the first line that is meant for a judge: what follows is its company.

    Of that line itself, the whole sentences before stay. Takes time in proportion to the text, also where it is one line.
    """
    place = _first(text)
    if place is None:
        return text
    begin = text.rfind("\n", 0, place) + 1
    end = max((match.end() for match in _SENTENCE_END.finditer(text, begin, place)), default=begin)
    return text[: begin if steers(text[begin:end]) else end].rstrip()


def _first(text: str) -> int | None:
    """Where in the text the first of it begins, after the marks and blanks that lead to it."""
    plain = _plain(text)
    found = [match.start() + _lead(match[0]) for one in (_DIRECT, _OVERRIDE) if (match := one.search(plain))]
    place = min(found, default=None)
    if place is not None:
        for mark in _ZERO_WIDTH.finditer(text):
            if mark.start() > place:
                break
            place += 1
    hidden = _HIDDEN.search(text, 0, _MAX_TEXT)
    return min((one for one in (place, hidden and hidden.start()) if one is not None), default=None)


def _lead(matched: str) -> int:
    lead = _LEAD.match(matched)
    return len(lead[0]) if lead else 0


def _plain(text: str) -> str:
    """Without marks nobody sees, of the same length in lines."""
    return _ZERO_WIDTH.sub("", text[:_MAX_TEXT])


def _hits(patterns: Iterable[re.Pattern[str]], text: str, place: str) -> list[str]:
    found = []
    for pattern in patterns:
        searched = text[:_MAX_TEXT] if pattern is _HIDDEN else _plain(text)
        found += [f"{place}: {_visible(match[0])}" for match in pattern.finditer(searched)]
    return found


def _visible(text: str) -> str:
    return (
        text.strip()[:_SHOWN].encode("ascii", "backslashreplace").decode()
        if _HIDDEN.search(text)
        else text.strip()[:_SHOWN]
    )


def _few(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(list(found)[:5])
