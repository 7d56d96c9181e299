"""The requirement ledger by rules: the sentences in which the user asks for something, quoted verbatim."""

import re

from blocks.session import Intervention, Session, Speaker, Step
from tasks.qualify.verdict import Requirement

_BLOCK = re.compile(
    r"```.*?(?:```|\Z)|<(environment_details|file_content|final_file_content)\b.*?(?:</\1>|\Z)", re.DOTALL
)
_SENTENCE = re.compile(r"[^\s].*?(?:[.!?](?=\s|$)|$)", re.MULTILINE)
_LIST_MARK = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_PASTED = re.compile(
    r"^\s*(?:Traceback \(|>>> |\$ |\S+@\S+:\S*[$#] |PS [A-Z]:|C:\\.*>|\+\+\+ |--- |@@ |E\s{2,}|={5,}|_{5,} |-----BEGIN )"
)
"""Such a line begins something pasted (a log, a shell, a patch), which goes on to the next empty line."""
_LOG_LINE = re.compile(
    r"^\s*(?:File \"|at \S+\(|\d{4}-\d\d-\d\d[T ]\d|[\w.]*(?:Error|Exception|Warning|Failed|Exit)\b[\w.]*: |[|>]|[A-Z][A-Z0-9_]+="
    r"|The above exception was the direct cause|During handling of the above exception"
    r"|The user (?:denied|rejected) this operation)"
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
    kept = []
    pasted = False
    for line in _BLOCK.sub(lambda match: "\n" * match[0].count("\n"), text).split("\n"):
        pasted = bool(line.strip()) and (pasted or bool(_PASTED.match(line)))
        kept.append("" if pasted or _LOG_LINE.match(line) else line)
    return "\n".join(kept)


def _sentences(step: Step) -> list[str]:
    quotes = []
    for match in _SENTENCE.finditer(asks(step.text)):
        quote = _LIST_MARK.sub("", match[0].strip()).lstrip("# ").strip()
        long_enough = len(re.findall(r"\w+", quote)) >= _MIN_WORDS or (len(quote) >= 12 and not quote.isascii())
        answers = step.intervention is Intervention.ANSWER and quote
        if quote and (long_enough or answers) and not _PLEASANTRY.match(quote) and quote in step.text:
            quotes.append(quote[:_MAX_QUOTE])
    return quotes
