"""Small Python projects with one bug and its fix, one for each way of declaring; and a place where they are rebuilt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from blocks.repositories import MirrorCache, Repository
from tests.history import MIT, History, git

Files = Mapping[str, str | None]

BUG = "def boil(litres):\n    return litres * 100\n\n\ndef cool(litres):\n    return litres - 1\n"
FIX = BUG.replace("litres * 100", "int(litres * 334.4)  # kJ to bring a litre from 20 to 100 degrees")
OLD_TESTS = "from kettle.core import boil, cool\n\n\ndef test_nothing():\n    assert boil(0) == 0\n"
NEW_TESTS = OLD_TESTS + "\n\ndef test_a_litre():\n    assert boil(1) == 334\n"
LEGACY = "from kettle.core import boil\n\n\ndef test_as_ever():\n    assert boil(1) == 100\n"
ITSELF = {"LICENSE": MIT, "tests/test_core.py": OLD_TESTS, "tests/test_legacy.py": LEGACY}
REPAIR = {"tests/test_core.py": NEW_TESTS}

FAIL_TO_PASS = ("tests/test_core.py::test_a_litre",)
PASS_TO_PASS = ("tests/test_core.py::test_nothing",)
PASS_TO_FAIL = ("tests/test_legacy.py::test_as_ever",)

SETUPTOOLS = """\
[build-system]
requires = ["setuptools", "wheel"]
build-backend = "setuptools.build_meta"
[project]
name = "kettle"
version = "1.4.0"
[project.optional-dependencies]
test = ["pytest"]
[tool.pytest.ini_options]
addopts = "-q --cov=kettle -n auto --strict-markers"
"""


@dataclass(frozen=True)
class Project:
    """A start, and what the outcome changes (None removes)."""

    start: Files
    change: Files
    tags: tuple[str, ...] = ()
    """Tags on the start commit."""
    between: Files = field(default_factory=dict)
    """What another commit changes between the start and the outcome."""


@dataclass(frozen=True)
class Found:
    """A project as a mirrored public repository."""

    repository: Repository
    start: str
    end: str


def src_layout(**more: str) -> Project:
    """`src/kettle`, setuptools, pyproject.toml. Keywords add files: `tests__test_x` is tests/test_x.py."""
    extra = {f"{name.replace('__', '/')}.py": text for name, text in more.items()}
    start = {**ITSELF, "pyproject.toml": SETUPTOOLS, "src/kettle/__init__.py": "", "src/kettle/core.py": BUG, **extra}
    return Project(start, {**REPAIR, "src/kettle/core.py": FIX})


def publish(folder: Path, project: Project) -> Found:
    """Make the repository below `folder` and read it through a mirror."""
    history = History(folder / "origin")
    start = history.commit(project.start, "Start", day=0)
    for tag in project.tags:
        git(history.folder, "tag", tag, start)
    if project.between:
        history.commit(project.between, "Something else", day=1)
    end = history.commit(project.change, "Boil as physics says", day=2)
    identity = "https://github.com/example/kettle"
    mirrors = MirrorCache(folder / "mirrors", {identity: str(history.folder)})
    return Found(mirrors.open(identity), start, end)
