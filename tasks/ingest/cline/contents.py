"""What tool results show of the world: whole files, saved files, and what commands printed."""

import re

from blocks.records import Record

_SAVED = re.compile(r'<final_file_content path="([^"\n]{0,4096})">\n')
_SAVED_END = "\n</final_file_content>"
_SHOWN = re.compile(r'<file_content path="([^"\n]{0,4096})">\n')
_SHOWN_END = "\n</file_content>"
_REPEAT = re.compile(r"\A(?:\[DUPLICATE READ\]|\[File already read\])[^\n]*\n")
_NUMBERED = re.compile(r"\A\d+ \| ")
_LINE = re.compile(r"^(\d+) \| (.*)$", re.DOTALL)
_WHOLE = re.compile(r"\n\n\(File has (\d+) lines total\.\)\s*\Z")
_PART = re.compile(r"\n\n\(Showing lines \d+-\d+ of \d+ total\.[^\n]*\)\s*\Z")
_FAILED = (
    "The tool execution failed",
    "The user denied this operation",
    "[[NOTE] This file read has been removed",
    "Tool [",
    "Error reading file",
    "(tool did not return anything)",
    "Missing value for required parameter",
    "Skipping",
)
_EDIT_FAILED = (
    *_FAILED,
    "This is likely because the SEARCH block",
    "The content was not saved",
    "Access to ",
    "This tool cannot be used in PLAN MODE",
)
_OUTPUT = re.compile(r"(?:\nOutput:\n|\n{1,3}Here's the output so far:\n)(.*)\Z", re.DOTALL)
_OUTPUT_TAIL = re.compile(
    r"\n\n(?:You will be updated on the terminal status.*|The user provided the following feedback:.*)\Z", re.DOTALL
)
_EXIT = re.compile(r"exit(?:ed with)?(?: with)? code:? (-?\d{1,5})", re.IGNORECASE)


class ShownFile(Record):
    """A file as a result shows it; `path` as written there."""

    path: str
    content: str


def file_read(result: str) -> str | None:
    """The whole content that a read_file result shows; None where it failed, was cut, or shows a part.

    Cline up to 3.6x gives the text as it is. Newer ones number the lines (`1 | ...`) and end with the count of lines;
    whether the file ended in a newline is then lost, and one is assumed.
    """
    text = _REPEAT.sub("", result)
    if text.startswith(_FAILED) or _PART.search(text) or "\n\n---\n\n[FILE TRUNCATED:" in text:
        return None
    counted = _WHOLE.search(text)
    if counted and _NUMBERED.match(text):
        lines = [_LINE.match(line) for line in text[: counted.start()].split("\n")]
        if len(lines) != int(counted[1]) or any(
            match is None or int(match[1]) != number for number, match in enumerate(lines, 1)
        ):
            return None
        return "".join(f"{match[2]}\n" for match in lines if match)
    return text


def file_saved(result: str) -> ShownFile | None:
    """The file after an edit, as the result shows it; None where it does not."""
    start, end = _SAVED.search(result), result.rfind(_SAVED_END)
    if start is None or end < start.end() - 1:
        return None
    return ShownFile(path=start[1], content=result[start.end() : end])


def files_shown(text: str) -> tuple[ShownFile, ...]:
    """Whole files that a message of the user or a failed edit shows."""
    found: list[ShownFile] = []
    position = 0
    while start := _SHOWN.search(text, position):
        end = text.find(_SHOWN_END, start.end() - 1)
        if end < 0:
            break
        content = text[start.end() : end]
        if not content.startswith(("Error fetching content", "(Binary file", "(Failed to read")):
            found.append(ShownFile(path=start[1], content=content))
        position = end
    return tuple(found)


def edit_applied(result: str | None) -> bool:
    """Whether an edit took hold: False without a result (it was interrupted and taken back), when denied or failed."""
    return result is not None and not result.lstrip().startswith(_EDIT_FAILED)


def command_ran(result: str) -> bool:
    """Whether a command was run at all: not where it was denied or refused."""
    return not result.startswith((*_FAILED, "Command denied", "Permission denied by"))


def command_output(result: str) -> str:
    """What the command printed, as far as the result shows it."""
    match = _OUTPUT.search(result)
    if match is None:
        return "" if result.startswith(("Command executed", "Command is still running")) else result
    return _OUTPUT_TAIL.sub("", match[1])


def exit_code(result: str) -> int | None:
    """The exit code, where Cline's own first line says it."""
    first = result.partition("\n")[0]
    match = _EXIT.search(first) if first.startswith(("Command", "Exit")) else None
    return int(match[1]) if match else None
