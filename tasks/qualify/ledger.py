"""The requirement ledger by rules: the sentences in which the user asks for something, quoted verbatim; and the tests that
hold what the user named, by file and line.
"""

import re

from blocks.path_kinds import PathKind, kind_of
from blocks.repositories import Repository
from blocks.session import Intervention, Session, Speaker, Step
from tasks.qualify.steering import without_steering
from tasks.qualify.surface import negative_of, positive_of, surface_of
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
_MAX_NAMES = 6
_MAX_TESTS = 200
_MAX_TEST_BYTES = 200_000
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
                found.append(_item(quote, step))
    return tuple(found)


def precedents_of(
    items: tuple[Requirement, ...], repository: Repository, commit: str | None
) -> tuple[Requirement, ...]:
    """What must go on as before: for each name the items speak of, the first test of the start commit that uses it."""
    names = [
        item.surface.partition(":")[2] for item in items if item.surface and item.surface.startswith(("call:", "name:"))
    ]
    wanted = [name.rpartition(".")[2] for name in dict.fromkeys(names) if re.fullmatch(r"[A-Za-z_][\w.]*", name)][
        :_MAX_NAMES
    ]
    if commit is None or not wanted:
        return ()
    found: dict[str, Requirement] = {}
    tests = [entry for entry in repository.tree_paths(commit) if kind_of(entry.path) is PathKind.TEST]
    for entry in sorted(tests, key=lambda one: one.path)[:_MAX_TESTS]:
        if len(found) == len(wanted) or (entry.size or 0) > _MAX_TEST_BYTES or entry.size is None:
            continue
        lines = (repository.read(commit, entry.path) or b"").decode("utf-8", "replace").splitlines()
        for name in wanted:
            used = re.compile(rf"\b{re.escape(name)}\b(?=\s*\()")
            line = next((number for number, text in enumerate(lines, 1) if used.search(text)), None)
            if name not in found and line is not None and not re.match(r"\s*(?:from|import|def)\b", lines[line - 1]):
                found[name] = Requirement(
                    quote=lines[line - 1].strip()[:_MAX_QUOTE],
                    turn=next(item.turn for item in items if item.surface and item.surface.endswith(name)),
                    kind="regression",
                    surface=f"call:{name}",
                    positive=lines[line - 1].strip()[:_MAX_QUOTE],
                    precedent=f"{entry.path}:{line}",
                )
    return tuple(found[name] for name in wanted if name in found)


def _item(quote: str, step: Step) -> Requirement:
    return Requirement(
        quote=quote,
        turn=step.index,
        kind="regression" if _REGRESSION.search(quote) else "explicit",
        surface=surface_of(quote),
        positive=positive_of(quote),
        negative=negative_of(quote),
        added=step.intervention is not Intervention.PROMPT,
    )


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
    for match in _SENTENCE.finditer(asks(without_steering(step.text))):
        quote = _LIST_MARK.sub("", match[0].strip()).lstrip("# ").strip()
        long_enough = len(re.findall(r"\w+", quote)) >= _MIN_WORDS or (len(quote) >= 12 and not quote.isascii())
        answers = step.intervention is Intervention.ANSWER and quote
        if quote and (long_enough or answers) and not _PLEASANTRY.match(quote) and quote in step.text:
            quotes.append(quote[:_MAX_QUOTE])
    return quotes
