"""package.json scripts as data: which test tools they start and how, and what they build before. Nothing of them runs.

A script is read as a shell would split it into simple commands; scripts it calls are followed.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.archaeology.node.options import plain_arguments

_SEPARATORS = frozenset({"&&", "||", ";", "|", "&", "(", ")", "\n"})
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_WRAPPERS = frozenset(
    {"npx", "pnpx", "bunx", "cross-env", "cross-env-shell", "c8", "nyc", "exec", "env", "time", "xvfb-run"}
)
_RECURSIVE = frozenset({"turbo", "nx", "lerna", "wsrun", "rush", "ultra", "bolt", "moon", "preconstruct"})
_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_RUN_MANY = frozenset({"run-s", "run-p", "npm-run-all", "npm-run-all2", "run-z"})
_BUILDS = re.compile(r"build|compile|bundle|generate|codegen|transpile|prepare|^tsc?$|^dist$", re.I)
_CHECKS = re.compile(
    r"lint|type-?s?check|:types?$|format|prettier|audit|coverage|size|docs?$|watch|bench|website", re.I
)
_CLEANS = re.compile(r"clean|reset|remove|^rm", re.I)
_DEEPEST = 6


@dataclass(frozen=True)
class Started:
    """A test tool that a script starts. The variables are those the script sets."""

    tool: str
    arguments: tuple[str, ...] = ()
    node_arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Reading:
    """What a script comes to."""

    started: tuple[Started, ...] = ()
    builds: tuple[str, ...] = ()
    """Names of scripts that build, called before the tests. What is started after a later build is left out."""
    goes_into_packages: bool = False
    """It starts the tests of the workspace's packages, each on its own."""


class _Reader:
    def __init__(self, scripts: Mapping[str, str]) -> None:
        self.scripts = scripts
        self.started: dict[Started, None] = {}
        self.builds: dict[str, None] = {}
        self.packages = False
        self.built_again = False

    def script(self, name: str, extra: Sequence[str], environment: Mapping[str, str], depth: int = 0) -> None:
        if depth > _DEEPEST or name not in self.scripts:
            return
        is_build = _BUILDS.search(name) and not name.startswith("test") and not _CLEANS.search(name)
        if is_build and self.started:
            self.built_again = True
        if is_build and not _CHECKS.search(name):
            self.builds.setdefault(name, None)
            return
        if _CLEANS.search(name) or (_CHECKS.search(name) and not is_build):
            return
        for around in (f"pre{name}", name, f"post{name}"):
            commands = list(_commands(self.scripts.get(around, "")))
            for number, words in enumerate(commands):
                last = around == name and number == len(commands) - 1
                self.command([*words, *(extra if last else ())], environment, depth)

    def command(self, words: list[str], environment: Mapping[str, str], depth: int) -> None:
        variables = dict(environment)
        words = self._unwrapped(words, variables)
        if not words:
            return
        name = words[0].rpartition("/")[2]
        if name in _RECURSIVE:
            self.packages = self.packages or "test" in " ".join(words)
        elif name in _RUN_MANY:
            for pattern in (word for word in words[1:] if not word.startswith("-")):
                self._matching(pattern, variables, depth)
        elif name == "concurrently":
            for text in (word for word in words[1:] if not word.startswith("-")):
                for inner in _commands(text):
                    self.command(inner, variables, depth + 1)
        elif name in _MANAGERS and not (name == "bun" and words[1:2] == ["test"]):
            self._managed(name, words[1:], variables, depth)
        else:
            self._tool(words, variables)

    def _unwrapped(self, words: list[str], variables: dict[str, str]) -> list[str]:
        while words:
            if _ASSIGNMENT.match(words[0]):
                key, _, value = words[0].partition("=")
                variables[key] = value
                words = words[1:]
            elif words[0] in _WRAPPERS:
                wrapper, words = words[0], words[1:]
                while words and words[0].startswith("-"):
                    takes_value = "=" not in words[0] and wrapper in ("c8", "nyc") and not _is_tool(words[1:2])
                    words = words[2:] if takes_value and len(words) > 1 and not words[1].startswith("-") else words[1:]
            elif words[0] == "dotenv" and "--" in words:
                words = words[words.index("--") + 1 :]
            else:
                return words
        return words

    def _managed(self, manager: str, words: list[str], variables: Mapping[str, str], depth: int) -> None:
        everywhere = {"-r", "--recursive", "-ws", "--workspaces", "--filter", "-F", "workspaces", "workspace", "-w"}
        if everywhere & set(words) or any(word.startswith(("--filter=", "--workspace=")) for word in words):
            self.packages = self.packages or any("test" in word for word in words)
            return
        while words and words[0].startswith("-"):
            words = words[1:]
        if not words:
            return
        if words[0] in ("run", "run-script", "exec", "dlx", "x"):
            is_script = words[0].startswith("run")
            words = [word for word in words[1:2] if not word.startswith("-")] + words[2:] if words[1:] else []
            if not words:
                return
            if not is_script or (words[0] not in self.scripts and not words[0].startswith("/")):
                self.command(words, variables, depth + 1)
                return
        name, rest = words[0], [word for word in words[1:] if word != "--"]
        name = {"t": "test", "tst": "test"}.get(name, name)
        if name in self.scripts:
            self.script(name, rest, variables, depth + 1)
        elif name.startswith("/"):
            self._matching(name, variables, depth)
        elif manager in ("yarn", "pnpm"):
            self.command(words, variables, depth + 1)

    def _matching(self, pattern: str, variables: Mapping[str, str], depth: int) -> None:
        """Scripts by run-s's wildcard (`test:*`) or pnpm's expression (`/^test:.*/`)."""
        if pattern.startswith("/"):
            text = pattern.strip("/")
        else:
            text = "^" + re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^:]*") + "$"
        try:
            found = [name for name in self.scripts if re.search(text, name)]
        except re.error:
            return
        for name in found:
            self.script(name, (), variables, depth + 1)

    def _tool(self, words: list[str], variables: Mapping[str, str]) -> None:
        found = started(words, tuple(sorted(variables.items())))
        if found and not self.built_again:
            self.started[found] = None


def read_script(scripts: Mapping[str, str], name: str) -> Reading:
    """What running a script would come to."""
    reader = _Reader(scripts)
    reader.script(name, (), {})
    builds = reader.builds if not reader.built_again else {}
    return Reading(tuple(reader.started), tuple(builds), reader.packages)


def started(words: Sequence[str], environment: tuple[tuple[str, str], ...] = ()) -> Started | None:
    """The test tool that a simple command starts; None where it starts none."""
    name, rest = words[0].rpartition("/")[2], list(words[1:])
    node_arguments: list[str] = []
    if name in ("node", "tsx", "ts-node", "borp"):
        if name == "tsx":
            node_arguments += ["--import", "tsx"]
        if name == "borp":
            return Started("node", tuple(plain_arguments("borp", rest)), (), environment)
        if any(word == "--test" for word in rest):
            ours, files = _node_options(rest)
            return Started("node", tuple(plain_arguments("node", files)), (*node_arguments, *ours), environment)
        ours, rest = _node_options(rest)
        if not rest:
            return None
        node_arguments += ours
        name, rest = _script_tool(rest[0]), rest[1:]
    name = {"_mocha": "mocha", "vitest.mjs": "vitest", "ts-mocha": "mocha", "bun": "bun", "c8": ""}.get(name, name)
    if name == "bun":
        return (
            Started("bun", tuple(plain_arguments("bun", rest[1:])), (), environment) if rest[:1] == ["test"] else None
        )
    if name in ("jest", "vitest", "mocha", "ava"):
        skipped = {"related", "bench", "list", "init", "typecheck"}
        if name == "vitest" and rest[:1] and rest[0] in skipped:
            return None
        return Started(name, tuple(plain_arguments(name, rest)), tuple(node_arguments), environment)
    return None


def _script_tool(path: str) -> str:
    """The tool that a script inside node_modules belongs to."""
    found = re.search(r"node_modules/(?:\.bin/)?(jest|vitest|mocha|ava)(?:/|$|-cli)", path)
    return found[1] if found else ""


def _node_options(words: list[str]) -> tuple[list[str], list[str]]:
    """Options of node at the front, and what follows; `--test` itself and its reporters are left out."""
    valued = {"--import", "--loader", "--experimental-loader", "-r", "--require", "--conditions", "-C", "--env-file"}
    ours: list[str] = []
    number = 0
    while number < len(words) and words[number].startswith("-"):
        word = words[number]
        takes = word in valued and number + 1 < len(words)
        if word != "--test" and not re.match(
            r"^--(test-(reporter|only|coverage|update)|experimental-test-coverage|watch)", word
        ):
            ours += words[number : number + 2] if takes else [word]
        elif word in ("--test-reporter", "--test-reporter-destination"):
            number += 1
        number += 2 if takes else 1
    return ours, words[number:]


def _is_tool(words: Sequence[str]) -> bool:
    return bool(words) and started(words) is not None


def _commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a script. Quotes that do not close end the reading."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="&|;()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for token in lexer:
            if token in _SEPARATORS or set(token) <= set("&|;()"):
                if words:
                    yield words
                words = []
            else:
                words.append(token)
    except ValueError:
        return
    if words:
        yield words
