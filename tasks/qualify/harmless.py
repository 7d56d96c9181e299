"""Until when the workspace of a session is certainly still the user's: no command ran that may write, nobody else spoke.

What a file holds later may be the work of the session, and must not get into the start state.
"""

import re
import shlex

from blocks.session import Intervention, Session

_READERS = frozenset(
    {"ls", "dir", "pwd", "cd", "cat", "head", "tail", "wc", "nl", "cut", "file", "stat", "du", "tree", "echo", "printf"}
    | {
        "grep",
        "egrep",
        "rg",
        "which",
        "type",
        "whoami",
        "uname",
        "date",
        "sort",
        "uniq",
        "basename",
        "dirname",
        "realpath",
    }
    | {"diff", "cmp", "md5sum", "sha256sum", "true"}
)
_GIT_READERS = frozenset(
    {"status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "ls-tree", "describe", "shortlog", "grep"}
)
_OUTPUTS = ("-o", "--output", "--pre")
_FIND_WRITES = frozenset({"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"})
_NOWHERE = re.compile(r"(?:[012]|&)?>\s*/dev/null|[12]>&[12]")
_STARTS = re.compile(r"&&|\|\||[|;\n]")
_ASIDE = (Intervention.PROMPT, Intervention.ANSWER)
_OWN = re.compile(r"mcp", re.IGNORECASE)


def untouched_until(session: Session) -> int | None:
    """The first step from which on the workspace may have been changed by other things than recorded edits; None: never.

    That is the first command that is not known to only read, the first tool of somebody else's, or the user's first word
    after the prompt that is no answer: then the user may have changed files as well.
    """
    steps = [command.step for command in session.commands if not only_reads(command.command)]
    steps += [step.index for step in session.steps if any(_OWN.search(call.name) for call in step.tool_calls)]
    steps += [step.index for step in session.steps if step.intervention and step.intervention not in _ASIDE]
    return min(steps, default=None)


def only_reads(command: str) -> bool:
    """Whether a shell command is certain to write nothing; False where it cannot be told."""
    text = _NOWHERE.sub(" ", command)
    if any(mark in text for mark in (">", "<(", "`", "$(", "&\n")) or text.rstrip().endswith("&"):
        return False
    return all(_reads(part) for part in _STARTS.split(text) if part.strip())


def _reads(part: str) -> bool:
    try:
        words = shlex.split(part)
    except ValueError:
        return False
    if not words or "&" in words:
        return not words
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "git":
        return bool(rest) and rest[0] in _GIT_READERS and not any(word.startswith(_OUTPUTS) for word in rest)
    if name == "find":
        return not _FIND_WRITES & set(rest)
    if name in ("sort", "tree", "rg"):
        return not any(word.startswith(_OUTPUTS) for word in rest)
    if name == "uniq":
        return sum(not word.startswith("-") for word in rest) < 2
    if name == "sed":
        return rest[:1] == ["-n"] and len(rest) > 1 and bool(re.fullmatch(r"\d+(,\d+)?p", rest[1]))
    return name in _READERS
