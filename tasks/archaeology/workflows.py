"""What the project's own automation says of how it is tested, read as data: CI files, tox, nox, hatch, images, guides.

Sources: docs.github.com/actions/reference/workflow-syntax-for-github-actions; docs.gitlab.com/ci/yaml; docs.travis-ci.com;
tox.wiki; nox.thea.codes; containers.dev.
"""

import ast
import configparser
import posixpath
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping

from blocks.records import Record
from blocks.trees import Tree
from tasks.archaeology.commands import RUNS_TESTS, Commands, read_script, runs_tests_of
from tasks.archaeology.devcontainer import read_devcontainers
from tasks.archaeology.documents import WORKFLOW, mapping, read_yaml, sequence
from tasks.archaeology.folders import within
from tasks.archaeology.python_names import Names

_DOCKERFILE = re.compile(r"^(\.devcontainer/|docker/|tests?/)?([\w-]+\.)?Dockerfile(\.(dev|test|tests|ci))?$")
_GUIDE = re.compile(
    r"^(docs?/)?(readme|contributing|install(ation)?|develop(ment|ing|er)?|hacking|building)(\.(md|rst|txt))?$", re.I
)
_TOLD_APT = re.compile(
    r"^[ \t>$#]*((?:sudo\s+)?(?:apt|apt-get|aptitude)\s[^\n]*?\binstall\b(?:[^\n\\]|\\\r?\n)*)", re.MULTILINE
)
_GITLAB = ".gitlab-ci.yml"
_TRAVIS = ".travis.yml"
_VERSION = re.compile(r"^(?:cpython-|python)?(3\.\d{1,2})(?:\.\d+|-dev)?$")
_VARIABLES = frozenset(
    {"DJANGO_SETTINGS_MODULE", "TZ", "LANG", "LC_ALL", "MPLBACKEND", "QT_QPA_PLATFORM", "PYTHONUTF8"}
)
"""Variables that decide what a test sees; everything else a job sets is about the job."""
_MOST_BYTES = 200_000


class Automation(Record):
    """What all of it said together."""

    commands: Commands = Commands()
    pythons: tuple[str, ...] = ()
    """Minor versions that jobs with tests run on, as found."""
    image_pythons: tuple[str, ...] = ()
    """Minor versions of the project's own images and development containers: where nothing else names any."""
    environment: tuple[tuple[str, str], ...] = ()
    services: tuple[str, ...] = ()
    """Containers that jobs with tests start beside themselves."""


def read_automation(tree: Tree, names: Names, folder: str = ".") -> Automation:
    """Only what runs tests counts: jobs, environments and sessions whose commands call a test runner.

    Args:
        tree: the whole tree.
        names: what names in commands mean.
        folder: the project's. Of jobs for several folders only those count that test it; paths come as it sees them.
    """
    project = within(tree, folder)
    parts = [
        *_workflows(tree, names, folder),
        *_tox(project, names),
        *_hatch(project, names),
        *_nox(project, names),
        *_older(tree, names, folder),
        *_images(project, tree, names),
        *_guides(project, names),
    ]
    commands = Commands()
    for part in parts:
        commands = commands.joined(part.commands)
    variables: dict[str, str] = {}
    for part in reversed(parts):
        variables.update(part.environment)
    return Automation(
        commands=commands,
        pythons=tuple(dict.fromkeys(version for part in parts for version in part.pythons)),
        image_pythons=tuple(dict.fromkeys(version for part in parts for version in part.image_pythons)),
        environment=tuple(sorted(variables.items())),
        services=tuple(dict.fromkeys(service for part in parts for service in part.services)),
    )


def _workflows(tree: Tree, names: Names, folder: str) -> Iterator[Automation]:
    for path in sorted(tree):
        if WORKFLOW.match(path):
            workflow = read_yaml(tree, path)
            for job in mapping(mapping(workflow).get("jobs")).values():
                if (found := _job(mapping(job), mapping(workflow), names, folder)) is not None:
                    yield found


def _job(job: Mapping[str, object], workflow: Mapping[str, object], names: Names, folder: str) -> Automation | None:
    steps = [mapping(step) for step in sequence(job.get("steps"))]
    matrix = mapping(mapping(job.get("strategy")).get("matrix"))
    rows = [matrix, *(mapping(row) for row in sequence(matrix.get("include")))]
    scripts = [
        (str(step["run"]), _started_in(step, job, workflow, rows, folder))
        for step in steps
        if isinstance(step.get("run"), str)
    ]
    if not any(_tests(script, folder, at) for script, at in scripts):
        return None
    commands = Commands()
    for script, at in scripts:
        commands = commands.joined(read_script(script, names, folder=folder, at=at))
    told = [value for row in rows for key, value in row.items() if "py" in key.lower()]
    told += [mapping(step.get("with")).get("python-version") for step in steps]
    environment: dict[str, str] = {}
    for holder in (workflow, job, *steps):
        environment.update(_variables(mapping(holder.get("env")).items()))
    return Automation(
        commands=commands,
        pythons=_versions(told),
        environment=tuple(environment.items()),
    )


def _tests(script: str, folder: str, at: str = ".") -> bool:
    return bool(RUNS_TESTS.search(script)) if folder == "." else runs_tests_of(script, folder, at)


def _started_in(
    step: Mapping[str, object],
    job: Mapping[str, object],
    workflow: Mapping[str, object],
    rows: Iterable[Mapping[str, object]],
    folder: str,
) -> str:
    """The folder of a step. One that a matrix names is the project's, where the matrix names that among others."""
    defaults = (mapping(mapping(holder.get("defaults")).get("run")) for holder in (job, workflow))
    told = next((text for one in (step, *defaults) if isinstance(text := one.get("working-directory"), str)), ".")
    if "$" in told:
        named = {posixpath.normpath(text) for row in rows for value in row.values() for text in _lines(value)}
        return folder if folder in named else "."
    return "." if told.startswith("/") else posixpath.normpath(told)


def _tox(tree: Tree, names: Names) -> Iterator[Automation]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(_text(tree, "tox.ini"))
    except configparser.Error:
        return
    if parser.has_section("testenv"):
        section = dict(parser.items("testenv"))
        script = section.get("commands", "").replace("{posargs}", "").replace("{toxinidir}/", "")
        if RUNS_TESTS.search(script):
            pairs = re.findall(
                r"^\s*(\w+)\s*=\s*(.*)$", section.get("setenv", section.get("set_env", "")), re.MULTILINE
            )
            yield Automation(commands=read_script(script, names), environment=tuple(_variables(pairs)))


def _hatch(tree: Tree, names: Names) -> Iterator[Automation]:
    try:
        document = tomllib.loads(_text(tree, "pyproject.toml"))
    except (ValueError, RecursionError):
        return
    environments = mapping(mapping(mapping(document.get("tool")).get("hatch")).get("envs"))
    for environment in map(mapping, environments.values()):
        scripts = mapping(environment.get("scripts")).values()
        script = "\n".join(line for value in scripts for line in _lines(value))
        if RUNS_TESTS.search(script):
            variables = _variables(mapping(environment.get("env-vars")).items())
            yield Automation(commands=read_script(script, names), environment=tuple(variables))


def _nox(tree: Tree, names: Names) -> Iterator[Automation]:
    """Literal arguments of `session.install` and `session.run` in functions named for tests, by syntax tree."""
    try:
        module = ast.parse(_text(tree, "noxfile.py"))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    for function in module.body:
        if not isinstance(function, ast.FunctionDef) or "test" not in function.name.lower():
            continue
        lines = []
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("install", "run")
            ):
                words = [str(item.value) for item in node.args if isinstance(item, ast.Constant)]
                words = ["pip", "install", *words] if node.func.attr == "install" else words
                lines.append(" ".join(f"'{word}'" for word in words if "'" not in word))
        told = [
            item.value
            for decorator in function.decorator_list
            for node in ast.walk(decorator)
            if isinstance(node, ast.keyword) and node.arg == "python"
            for item in ast.walk(node.value)
            if isinstance(item, ast.Constant)
        ]
        yield Automation(commands=read_script("\n".join(lines), names), pythons=_versions(told))


def _older(tree: Tree, names: Names, folder: str) -> Iterator[Automation]:
    """GitLab's jobs and Travis: scripts by name, versions by image or matrix."""
    document = mapping(read_yaml(tree, _GITLAB))
    common = _script(document, "before_script")
    for job in map(mapping, document.values()):
        script = "\n".join((common, _script(job, "before_script", "script")))
        if _tests(script if folder != "." else _script(job, "script"), folder):
            image = job.get("image", document.get("image"))
            told = image if isinstance(image, str) else mapping(image).get("name")
            variables = _variables(mapping(job.get("variables", document.get("variables"))).items())
            yield Automation(
                commands=read_script(script, names, folder=folder),
                pythons=_image_versions(told),
                environment=tuple(variables),
            )
    travis = mapping(read_yaml(tree, _TRAVIS))
    script = _script(travis, "before_install", "install", "before_script", "script")
    if _tests(script if folder != "." else _script(travis, "script"), folder):
        rows = [travis, *map(mapping, sequence(mapping(travis.get("jobs", travis.get("matrix"))).get("include")))]
        addons = mapping(mapping(travis.get("addons")).get("apt")).get("packages")
        script += f"\napt-get install {' '.join(_lines(addons))}" if addons else ""
        yield Automation(
            commands=read_script(script, names, folder=folder),
            pythons=_versions(row.get("python") for row in rows),
            services=tuple(_lines(travis.get("services"))),
        )


def _images(project: Tree, tree: Tree, names: Names) -> Iterator[Automation]:
    """Debian packages and Python of the project's own images; what else an image installs is about running it.

    Development containers are the whole tree's.
    """
    for path in sorted(project):
        if _DOCKERFILE.match(path):
            text = _text(project, path)
            script = re.sub(r"^\s*RUN\s+(--\S+\s+)*", "", text, flags=re.MULTILINE)
            froms = re.findall(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)", text, re.MULTILINE | re.IGNORECASE)
            yield Automation(
                commands=Commands(system_packages=read_script(script, names).system_packages),
                image_pythons=tuple(version for image in froms for version in _image_versions(image)),
            )
    told = read_devcontainers(tree)
    script = f"{told.script}\napt-get install {' '.join(told.packages)}"
    yield Automation(
        commands=Commands(system_packages=read_script(script, names).system_packages),
        image_pythons=_versions(told.versions_of("python")),
        environment=tuple(_variables(told.variables)),
        services=told.services,
    )


def _guides(tree: Tree, names: Names) -> Iterator[Automation]:
    """Debian packages that README and its like tell people to install, in code blocks or behind a prompt."""
    for path in sorted(tree):
        if _GUIDE.match(path):
            found = _TOLD_APT.findall(_text(tree, path))
            script = "\n".join(line.replace("`", " ") for line in found)
            yield Automation(commands=Commands(system_packages=read_script(script, names).system_packages))


def _script(holder: Mapping[str, object], *keys: str) -> str:
    return "\n".join(line for key in keys for line in _lines(holder.get(key)))


def _image_versions(image: object) -> tuple[str, ...]:
    """`python:3.11-slim`, also of a mirror; `cimg/python:3.11`."""
    found = re.search(r"(?:^|/)python:(3\.\d{1,2})(?!\d)", image) if isinstance(image, str) else None
    return (found[1],) if found else ()


def _versions(values: Iterable[object]) -> tuple[str, ...]:
    texts = [text for value in values for text in _lines(value)]
    found = (_VERSION.match(text.strip()) for text in texts)
    return tuple(dict.fromkeys(match[1] for match in found if match))


def _variables(pairs: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str]]:
    for name, value in pairs:
        text = str(value).strip()
        if name in _VARIABLES and text and text.isprintable() and not re.search(r"[${}]", text):
            yield name, text


def _lines(value: object) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _text(tree: Tree, path: str) -> str:
    file = tree.get(path)
    return file.content[:_MOST_BYTES].decode("utf-8", "replace") if file and file.link is None else ""
