"""Stands before a compiler under its name: `-Werror` goes, and what does not compile is written down.

A newer compiler warns of more than the one the project was made with, so warnings are no errors here. Checks that ask
the compiler what it can do (cmake's, meson's, configure's) run as they are: they look at those errors. With
ENVMILL_COMPILER_LOG every failed compilation leaves a line of JSON there: `sources`, `folder`, `error`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")
CHECKS = ("CMakeTmp", "CMakeScratch", "TryCompile", "CompilerIdC", "meson-private", "conftest", "tmpvcheck")


def main() -> int:
    """Run the real compiler of this name."""
    name = os.path.basename(sys.argv[0])  # noqa: PTH119
    real = find(name, os.path.dirname(os.path.abspath(sys.argv[0])))  # noqa: PTH100, PTH120
    if real is None:
        sys.stderr.write(f"{name}: not found\n")
        return 127
    arguments = sys.argv[1:]
    folder = os.getcwd()  # noqa: PTH109
    is_check = any(mark in word for mark in CHECKS for word in [folder, *arguments])
    if not is_check:
        arguments = [word for word in map(lenient, arguments) if word]
    log = os.environ.get("ENVMILL_COMPILER_LOG")
    if is_check or not log:
        os.execv(real, [real, *arguments])
    done = subprocess.run([real, *arguments], stderr=subprocess.PIPE, check=False)
    sys.stderr.buffer.write(done.stderr)
    if done.returncode:
        note(log, arguments, folder, done.stderr.decode("utf-8", "replace"))
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def find(name: str, own: str) -> str | None:
    """The next program of this name on the path that is not one of these."""
    for folder in os.environ.get("PATH", "/usr/bin:/bin").split(os.pathsep):
        path = os.path.join(folder or ".", name)  # noqa: PTH118
        if os.path.realpath(folder or ".") != os.path.realpath(own) and os.access(path, os.X_OK):
            return path
    return None


def lenient(word: str) -> str:
    """An argument without making a warning an error; empty where nothing is left of it."""
    if word in ("-Werror", "-Wfatal-errors"):
        return ""
    return "-W" + word[len("-Werror=") :] if word.startswith("-Werror=") else word


def note(log: str, arguments: list[str], folder: str, said: str) -> None:
    """Append one line, in one write."""
    lines = [line for line in said.splitlines() if "error" in line or "undefined reference" in line]
    record = {
        "sources": [word for word in arguments if word.endswith(SOURCES) and not word.startswith("-")],
        "folder": folder,
        "error": (lines or said.splitlines() or [""])[0][:300],
    }
    with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    sys.exit(main())
