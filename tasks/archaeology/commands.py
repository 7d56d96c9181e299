"""Shell text as data: what the commands of a CI job, a tox or hatch environment or a Dockerfile install and run."""

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from packaging.requirements import InvalidRequirement, Requirement

from blocks.records import Record
from tasks.archaeology.folders import placed, relative
from tasks.archaeology.python_names import Names

RUNS_TESTS = re.compile(
    r"\b(pytest|py\.test|unittest|nosetests|tox|nox|hatch (run|test)|coverage run|setup\.py test|runtests|make (test|check))\b"
)
_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)=(.*)$")
_WRAPPERS = frozenset({"sudo", "-E", "env", "time", "exec", "xvfb-run", "-a", "command", "then", "do", "!", "{", "("})
_RUNNERS = (("poetry", "run"), ("pipenv", "run"), ("uv", "run"), ("pdm", "run"), ("hatch", "run"), ("nohup",))
_KEPT_OPTIONS = ("--import-mode", "--strict", "--asyncio-mode", "--ds=", "--ignore")
_KEPT_WITH_VALUE = frozenset({"-p", "-o", "--ignore", "--ignore-glob", "--import-mode", "--ds", "--asyncio-mode"})
_PIP_WITH_VALUE = frozenset(
    {"-r", "--requirement", "-e", "--editable", "-c", "--constraint", "-i", "--index-url", "--extra-index-url", "-f"}
    | {"--group", "--extra", "--python", "--target", "-t", "--prefix", "--find-links", "--no-binary", "--only-binary"}
)
_MOST = 20_000
"""Characters of one script; what is over is not read."""


class Commands(Record):
    """What scripts said. Everything is as written, checked only to be of its form."""

    system_packages: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    """Also `.[extra]`, as in an editable install."""
    requirement_files: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """Options of pytest that change what a test sees or which files hold tests."""
    test_files: tuple[str, ...] = ()
    """Patterns of unittest's discovery."""
    from_root: bool = False
    """Tests are run by `python -m` in the project's folder, so that it is on the import path."""
    above: tuple[str, ...] = ()
    """Folders, as the project sees them (`..`), that tests are run from by `python -m`."""

    def joined(self, other: "Commands") -> "Commands":
        """Both."""
        return Commands(
            system_packages=_once(self.system_packages, other.system_packages),
            requirements=_once(self.requirements, other.requirements),
            requirement_files=_once(self.requirement_files, other.requirement_files),
            arguments=self.arguments or other.arguments,
            test_files=_once(self.test_files, other.test_files),
            from_root=self.from_root or other.from_root,
            above=_once(self.above, other.above),
        )


def read_script(script: str, names: Names, *, folder: str = ".", at: str = ".") -> Commands:
    """What a shell script installs and how it runs tests. Commands that hold a variable or an expression are left out.

    Args:
        script: its text.
        names: what the names in it mean.
        folder: the project's. Where it is not the root, what belongs to other folders is left out, and files are named
            as the project's folder sees them.
        at: the folder the script is started in.
    """
    found = Commands()
    for call in located(script, at):
        if folder == ".":
            found = found.joined(_command(call.words, names))
        elif (part := _command_of(call, folder, names)) is not None:
            found = found.joined(part)
    return found


def runs_tests_of(script: str, folder: str, at: str = ".") -> bool:
    """Whether a script runs tests of this folder: from there, or by naming something in it."""
    return any(RUNS_TESTS.search(call.text) and _concerns(call, folder) for call in located(script, at))


@dataclass(frozen=True)
class Call:
    """A simple command, and the folder it runs in."""

    words: tuple[str, ...]
    text: str
    """As written, with what starts it (`uv run`, `xvfb-run`)."""
    folder: str


def located(script: str, at: str) -> Iterator[Call]:
    """The simple commands of a script, each in the folder that the `cd` before it leads to."""
    here, outer = at, at
    for line in _lines(script[:_MOST]):
        opened = line.lstrip().startswith("(")
        if opened:
            outer, line = here, line.lstrip().lstrip("(")
        words = _words(line)
        if words[:1] in (["cd"], ["pushd"]) and len(words) > 1 and "$" not in words[1] and not words[1].startswith("/"):
            here = placed(words[1].rstrip(")"), here)
        elif words:
            yield Call(tuple(words), line, here)
        if line.rstrip().endswith(")"):
            here = outer


def _concerns(call: Call, folder: str) -> bool:
    named = [placed(word.partition("::")[0], call.folder) for word in call.words[1:] if not word.startswith("-")]
    return any(one == folder or one.startswith(f"{folder}/") for one in (call.folder, *named))


def _command_of(call: Call, folder: str, names: Names) -> Commands | None:
    """What a command says of one folder of several: its own, and what is run above for it."""
    told = _command([_as_own(word, call.folder, folder) for word in call.words], names)
    files = tuple(relative(placed(file, call.folder), folder) for file in told.requirement_files)
    if call.folder == folder:
        return told.model_copy(update={"requirement_files": files})
    is_inside = call.folder.startswith(f"{folder}/")
    is_above = call.folder == "." or folder.startswith(f"{call.folder}/")
    if not is_inside and not is_above:
        return Commands(system_packages=told.system_packages)
    if RUNS_TESTS.search(call.text) and not _concerns(call, folder):
        return None
    above = (relative(call.folder, folder),) if told.from_root and is_above else ()
    return Commands(
        system_packages=told.system_packages,
        requirements=told.requirements,
        requirement_files=files,
        test_files=told.test_files,
        above=above,
    )


def _as_own(word: str, at: str, folder: str) -> str:
    """A path to the project, with its extras, as the project names itself: `./backend[test]` is `.[test]` in backend."""
    path = re.fullmatch(r"([\w./-]+?)(\[[\w\s,.-]+\])?", word)
    if path is None or at == folder:
        return word
    if placed(path[1], at) == folder:
        return f".{path[2] or ''}"
    return "--other" if re.fullmatch(r"\.{1,2}(/.*)?", path[1]) else word


def _command(words: Sequence[str], names: Names) -> Commands:
    if words[0] in ("apt-get", "apt", "aptitude") and "install" in words:
        wanted = [word.partition("=")[0] for word in words[words.index("install") + 1 :] if not word.startswith("-")]
        return Commands(system_packages=tuple(word for word in wanted if names.is_useful(word)))
    pip = _after(words, ("pip", "install"), ("pip3", "install"), ("add",))
    if pip is not None and words[0] in ("pip", "pip3", "uv", "python", "python3", "py"):
        return _pip(pip, names)
    pytest = _after(words, ("pytest",), ("py.test",))
    if pytest is not None:
        return Commands(arguments=_kept(pytest), from_root="-m" in words[: len(words) - len(pytest)])
    unittest = _after(words, ("-m", "unittest"))
    if unittest is not None:
        return Commands(test_files=_patterns(unittest), from_root=True)
    return Commands()


def _lines(script: str) -> list[str]:
    return re.split(r"\n|&&|\|\||;|\|", re.sub(r"\\\r?\n", " ", script))


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    while words and (words[0] in _WRAPPERS or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    for runner in _RUNNERS:
        if tuple(words[: len(runner)]) == runner:
            words = words[len(runner) :]
    while words and words[0].startswith("-"):
        words = words[1:]
    return words


def _after(words: Sequence[str], *calls: tuple[str, ...]) -> list[str] | None:
    """The words after the first of these calls; None where none is made within the first six words."""
    for start in range(min(len(words), 6)):
        for call in calls:
            if tuple(words[start : start + len(call)]) == call:
                return list(words[start + len(call) :])
    return None


def _pip(words: Sequence[str], names: Names) -> Commands:
    requirements: list[str] = []
    files: list[str] = []
    skip = ""
    for word in words:
        if skip:
            if skip in ("-r", "--requirement"):
                files.append(posixpath.normpath(word))
            elif skip in ("-e", "--editable"):
                requirements.append(word)
            skip = ""
        elif word in _PIP_WITH_VALUE:
            skip = word
        elif word.startswith("-r"):
            files.append(posixpath.normpath(word[2:]))
        elif not word.startswith("-"):
            requirements.append(word)
    return Commands(
        requirements=tuple(word for word in requirements if _is_wanted(word, names)),
        requirement_files=tuple(file for file in files if not file.startswith("/") and "$" not in file),
    )


def _is_wanted(word: str, names: Names) -> bool:
    if re.fullmatch(r"\.(\[[\w\s,.-]+\])?", word):
        return True
    try:
        requirement = Requirement(word)
    except InvalidRequirement:
        return False
    return requirement.url is None and not names.is_work_around(requirement.name)


def _kept(words: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for position, word in enumerate(words):
        if "$" in word or "{" in word:
            continue
        if word in _KEPT_WITH_VALUE:
            value = words[position + 1 : position + 2]
            if value and "$" not in value[0] and not value[0].startswith("no:cacheprovider"):
                kept += [word, value[0]]
        elif word.startswith(_KEPT_OPTIONS):
            kept.append(word)
    return tuple(kept)


def _patterns(words: Sequence[str]) -> tuple[str, ...]:
    """`-p PATTERN` of unittest's discovery."""
    pairs = pairwise(words)
    found = [value for option, value in pairs if option in ("-p", "--pattern")]
    found += [word.partition("=")[2] for word in words if word.startswith("--pattern=")]
    return tuple(pattern for pattern in found if re.fullmatch(r"[\w*?.\[\]-]+", pattern))


def _once(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
