"""The requirement ledger by rules: the sentences in which the user asks for something, quoted verbatim."""

import re

from blocks.session import Intervention, Session, Speaker, Step
from tasks.qualify.verdict import Requirement

_BLOCK = re.compile(
    r"```.*?(?:```|\Z)|<(environment_details|file_content|final_file_content)\b.*?(?:</\1>|\Z)", re.DOTALL
)
_SENTENCE = re.compile(r"[^\s].*?(?:[.!?](?=\s|$)|$)", re.MULTILINE)
_LIST_MARK = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_LOG_LINE = re.compile(
    r"^\s*(?:Traceback \(|File \"|>>> |\.\.\. |\$ |\+\+\+ |--- |@@ |E\s{2,}|at \S+\(|\d{4}-\d\d-\d\d[T ]"
    r"|\w+(?:Error|Exception): |[|>])"
)
_REGRESSION = re.compile(
    r"\b(?:without (?:breaking|changing)|(?:do not|don't|must not|should not|shouldn't|never) (?:break|change|touch|remove)"
    r"|still (?:work|pass|be)|keep (?:the|all|every|it|existing)|backwards?[- ]compatib|existing (?:tests?|behaviou?r))\b",
    re.IGNORECASE,
)
_PLEASANTRY = re.compile(
    r"^(?:hi|hello|hey|thanks?|thank you|great|ok(?:ay)?|yes|no|sure|perfect|nice|cool|good|please|continue|go on|go ahead)\b"
    r"[\s,!.\w]{0,24}$",
    re.IGNORECASE,
)
_MIN_WORDS = 3
_MAX_QUOTE = 600


def requirements_of(session: Session) -> tuple[Requirement, ...]:
    """Items in the order of the session. Every quote stands verbatim in the text of its step."""
    found: list[Requirement] = []
    known: set[str] = set()
    for step in session.steps:
        if step.speaker is not Speaker.USER or step.intervention is None:
            continue
        for quote in _sentences(step):
            if quote.casefold() not in known:
                known.add(quote.casefold())
                kind = "regression" if _REGRESSION.search(quote) else "explicit"
                found.append(Requirement(quote=quote, turn=step.index, kind=kind))
    return tuple(found)


def asks(text: str) -> str:
    """The text without code blocks, logs and what a tool put in."""
    kept = _BLOCK.sub(lambda match: "\n" * match[0].count("\n"), text)
    return "\n".join("" if _LOG_LINE.match(line) else line for line in kept.split("\n"))


def _sentences(step: Step) -> list[str]:
    quotes = []
    for match in _SENTENCE.finditer(asks(step.text)):
        quote = _LIST_MARK.sub("", match[0].strip()).lstrip("# ").strip()
        long_enough = len(re.findall(r"\w+", quote)) >= _MIN_WORDS or (len(quote) >= 12 and not quote.isascii())
        answers = step.intervention is Intervention.ANSWER and quote
        if quote and (long_enough or answers) and not _PLEASANTRY.match(quote) and quote in step.text:
            quotes.append(quote[:_MAX_QUOTE])
    return quotes
