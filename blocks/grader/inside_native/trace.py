"""Reads what strace wrote: the processes of a run, each with its program, arguments, folder, parent and end."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

_LINE = re.compile(r"^(\d+) +(.*)$")
_EXEC = re.compile(r'^execve\((".*?(?<!\\)"), (\[.*?\]), 0x[0-9a-f]+ /\*.*\*/(?:\)| <unfinished)', re.S)
_CHDIR = re.compile(r'^chdir\((".*?(?<!\\)")\)? *(?:= 0|<unfinished)')
_BORN = re.compile(r"^(?:<\.\.\. )?(?:clone3?|v?fork)\b.*= (\d+)$")
_EXITED = re.compile(r"^\+\+\+ exited with (\d+) \+\+\+")
_KILLED = re.compile(r"^\+\+\+ killed by SIG(\w+)")
_RESUMED = re.compile(r"^<\.\.\. (execve|chdir) resumed>.*= (-?\d+)")


@dataclass
class Process:
    """One process, as what it became last. `code` is negative for a signal, None where its end was not seen."""

    folder: Path
    parent: int = 0
    program: Path = Path()
    argv: tuple[str, ...] = ()
    code: int | None = None
    pending: str = field(default="", repr=False)


def read_trace(path: Path, folder: Path) -> dict[int, Process]:
    """All processes by id, in the order they appeared. The first began in `folder`.

    A child may be seen before the call that made it returns, so parents are read first.
    """
    try:
        lines = [match.groups() for match in map(_LINE.match, path.read_text("utf-8", "replace").splitlines()) if match]
    except OSError:
        return {}
    parents = {}
    for pid, text in lines:
        born = _BORN.match(text)
        if born:
            parents[int(born[1])] = int(pid)
    found: dict[int, Process] = {}
    for pid, text in lines:
        number = int(pid)
        if number not in found:
            parent = parents.get(number, 0)
            above = found.get(parent)
            found[number] = Process(folder=above.folder if above else folder, parent=parent)
            if above:
                found[number].program, found[number].argv = Path(), ()
        _take(found[number], text)
    return found


def _take(process: Process, text: str) -> None:
    resumed = _RESUMED.match(text)
    if resumed:
        if resumed[2] == "0" and process.pending:
            _become(process, process.pending)
        process.pending = ""
    elif text.startswith(("execve(", "chdir(")):
        if text.endswith("<unfinished ...>"):
            process.pending = text
        elif text.rstrip().endswith("= 0"):
            _become(process, text)
    else:
        exited, killed = _EXITED.match(text), _KILLED.match(text)
        if exited:
            process.code = int(exited[1])
        elif killed:
            process.code = -SIGNALS.get(killed[1], 9)


def _become(process: Process, text: str) -> None:
    chdir, execve = _CHDIR.match(text), _EXEC.match(text)
    if chdir:
        process.folder = Path(os.path.normpath(process.folder / _text(chdir[1])))
    elif execve:
        process.program = Path(os.path.normpath(process.folder / _text(execve[1])))
        process.argv = tuple(_text(word) for word in re.findall(r'"(?:[^"\\]|\\.)*"', execve[2]))


def _text(quoted: str) -> str:
    """A C string as strace writes it."""
    try:
        value = ast.literal_eval("b" + quoted)
    except (ValueError, SyntaxError):
        return ""
    return os.fsdecode(value) if isinstance(value, bytes) else ""


SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "SEGV": 11,
           "PIPE": 13, "ALRM": 14, "TERM": 15, "SYS": 31}  # fmt: skip
