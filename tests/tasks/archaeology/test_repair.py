"""Projects that do not work as declared: mended by the table, by what helped before, or by another Python."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from blocks.engine import Engine
from blocks.lake import ObjectStore, open_store
from blocks.recipe import Recipe
from blocks.records import Outcome, ReasonCode
from blocks.remembered import forget, recall, remember
from blocks.settings import GateSettings, Settings, TimeoutSettings
from tasks.archaeology import proof
from tasks.archaeology.proposals import Asking, Proposal, Proposed
from tasks.archaeology.reconstruct import Reconstruction, reconstruct
from tasks.archaeology.remedies import Action, Evidence, Fix
from tasks.archaeology.repair import GoodRecipe, remembered_kind
from tests.tasks.projects import (
    BUG,
    FAIL_TO_PASS,
    FIX,
    ITSELF,
    NEW_TESTS,
    PASS_TO_PASS,
    SETUPTOOLS,
    Project,
    publish,
)

pytestmark = pytest.mark.engine

Dig = Callable[..., Reconstruction]
ZIPS = "import subprocess\n\n\ndef test_zip():\n    assert subprocess.run(['zip', '-v'], capture_output=True).returncode == 0\n"
ODD = (
    "import pathlib\nimport secrets\nimport socket\nimport pytest\n\n\n"
    "@pytest.mark.parametrize('token', [secrets.token_hex(8)])\ndef test_named_by_chance(token):\n    assert token\n\n\n"
    "def test_by_chance():\n    assert pathlib.Path('/proc/sys/kernel/random/uuid').read_text()[0] in '01234567'\n"
)
CI = """\
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: sudo apt-get install -y zip no-such-package-anywhere python3-dev
      - run: python -m pytest
"""


KETTLE = "https://github.com/example/kettle"
GUARD = "import os\n\nif os.environ.get('KETTLE') != 'on':\n    raise RuntimeError('the kettle is off')\n"


@pytest.fixture(scope="module")
def store(engine_settings: Settings) -> ObjectStore:
    return open_store(engine_settings)


@pytest.fixture
def dig(engine: Engine, store: ObjectStore, engine_settings: Settings, tmp_path: Path, python_image: str) -> Dig:
    def run(
        start: dict[str, str], change: dict[str, str] | None = None, *, repeats: int = 1, asking: Asking | None = None
    ) -> Reconstruction:
        base = {**ITSELF, "pyproject.toml": SETUPTOOLS, "src/kettle/__init__.py": "", "src/kettle/core.py": BUG}
        fixed = change or {"tests/test_core.py": NEW_TESTS, "src/kettle/core.py": FIX}
        found = publish(tmp_path / str(len(list(tmp_path.iterdir()))), Project({**base, **start}, fixed))
        settings = engine_settings.model_copy(
            update={"timeouts": TimeoutSettings(tests_sec=300), "gates": GateSettings(repeats=repeats)}
        )
        return reconstruct(
            engine,
            store,
            settings,
            found.repository,
            candidate_id="c-0001",
            start_commit=found.start,
            end_commit=found.end,
            asking=asking,
        )

    return run


def obstacles(found: Reconstruction) -> list[tuple[int, str, bool]]:
    return [(row.attempt, row.remedy.rpartition(": ")[2], row.resolved) for row in found.obstacles]


def test_the_table_mends_in_rounds_and_what_helped_is_kept(dig: Dig, store: ObjectStore) -> None:
    """First a module that only the tests import, then a tool they call, then a package without which they are skipped."""
    more = {
        "tests/test_more.py": "import yaml\n\n\ndef test_more():\n    assert yaml.safe_load('a: 1') == {'a': 1}\n",
        "tests/test_zip.py": ZIPS,
        **{
            f"tests/test_six_{number}.py": "import pytest\n\nsix = pytest.importorskip('six')\n\n\ndef test_it(): ...\n"
            for number in "ab"
        },
    }
    found = dig(more)
    assert (found.row.status, found.row.reason_code) == (Outcome.PASSED, ReasonCode.OK), found.message
    assert found.comparison and found.comparison.fail_to_pass == FAIL_TO_PASS
    assert {"tests/test_more.py::test_more", "tests/test_zip.py::test_zip", "tests/test_six_a.py::test_it"} < set(
        found.comparison.pass_to_pass
    )
    assert obstacles(found) == [
        (1, "add_module yaml", True),
        (1, "add_command zip", True),
        (1, "add_module six", True),
    ]
    assert found.recipe and found.recipe.system_packages == ("zip",)
    names = {package.filename.partition("-")[0].partition("_")[0].lower() for package in found.recipe.packages}
    assert {"pyyaml", "zip", "six"} <= names
    memory = recall(store, KETTLE, remembered_kind("python"))
    assert memory is not None
    kept = GoodRecipe.model_validate_json(memory.content)
    assert [fix.key for fix in kept.fixes] == [("add_module", "yaml"), ("add_command", "zip"), ("add_module", "six")]
    assert not any(fix.symptom for fix in kept.fixes), "no words of its logs"
    assert forget(store, "c-0001") == 2 and recall(store, KETTLE, remembered_kind("python")) is None


def test_what_helped_the_repository_before_is_tried_after_the_table(dig: Dig, store: ObjectStore) -> None:
    fix = Fix(action=Action.SET_ENVIRONMENT, argument="KETTLE=on", symptom="", name="by hand")
    content = GoodRecipe(stack="python", runtime="3.11", fixes=(fix,)).model_dump_json().encode()
    remember(store, KETTLE, remembered_kind("python"), "c-before", content, datetime(2026, 1, 1, tzinfo=UTC))
    memory = recall(store, KETTLE, remembered_kind("python"))
    found = dig({"conftest.py": GUARD})
    assert found.row.status is Outcome.PASSED, found.message
    assert obstacles(found) == [(1, "set_environment KETTLE=on", True)]
    assert memory and f"(remembered {memory.digest[:12]})" in found.obstacles[0].remedy, "the row says what was used"
    assert "c-before" not in found.obstacles[0].remedy
    assert found.recipe and found.recipe.environment == (("KETTLE", "on"),), "the recipe needs no memory"
    assert forget(store, "c-before") and forget(store, "c-0001")
    alone = dig({"conftest.py": GUARD + "# nobody knows\n"})
    assert (alone.row.status, alone.row.reason_code) == (Outcome.FAILED, ReasonCode.TESTS_NOT_COLLECTED)


class Script:
    """Proposes what it was told to, one after the other."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.answers = list(answers)
        self.shown: list[tuple[str, tuple[str, ...], float]] = []

    def propose(self, recipe: Recipe, evidence: Evidence, tried: Sequence[Fix], budget_usd: float) -> Proposal:
        self.shown.append((evidence.collect, tuple(fix.argument for fix in tried), budget_usd))
        fixes = tuple(Proposed(action=Action.SET_ENVIRONMENT, argument=text) for text in self.answers.pop(0))
        return Proposal(fixes=fixes, cost_usd=0.25)


def test_what_a_model_proposes_is_tried_last_and_judged_by_the_tests(dig: Dig) -> None:
    """The first proposal does not help, the second would rule the tests and is not tried, the third does help."""
    script = Script(("KETTLE=off",), ("PYTEST_ADDOPTS=--deselect=tests",), ("KETTLE=on",))
    asking = Asking(script, most_tries=4, budget_usd=2.0)
    found = dig({"conftest.py": GUARD}, asking=asking)
    assert (found.row.status, found.row.reason_code) == (Outcome.FAILED, ReasonCode.TESTS_NOT_COLLECTED)
    assert obstacles(found) == [(1, "set_environment KETTLE=off", False)]
    assert len(script.shown) == 2 and "the kettle is off" in script.shown[0][0]
    assert script.shown[1][1:] == (("KETTLE=off",), 1.75)
    found = dig({"conftest.py": GUARD}, asking=Asking(Script(("KETTLE=off",), ("KETTLE=on",))))
    assert found.row.status is Outcome.PASSED, found.message
    assert obstacles(found) == [(1, "set_environment KETTLE=off", False), (2, "set_environment KETTLE=on", True)]


@pytest.mark.parametrize(("cheap_sec", "runs"), [(60.0, 6), (0.0, 4)], ids=["a short suite", "a long one"])
def test_what_is_named_or_decided_by_chance_is_in_no_set(
    dig: Dig, monkeypatch: pytest.MonkeyPatch, cheap_sec: float, runs: int
) -> None:
    """Of a long suite the outcome's test files run twice: here one whose ids hold a random token."""
    monkeypatch.setattr(proof, "CHEAP_SEC", cheap_sec)
    change = {"tests/test_core.py": NEW_TESTS, "src/kettle/core.py": FIX, "tests/test_odd.py": ODD}
    found = dig({}, change, repeats=3)
    assert found.row.status is Outcome.PASSED, found.message
    assert found.comparison and found.comparison.fail_to_pass == FAIL_TO_PASS
    assert set(found.comparison.pass_to_pass) >= set(PASS_TO_PASS)
    assert not [test for test in found.comparison.pass_to_pass if "named_by_chance" in test]
    (row,) = found.obstacles
    assert "named_by_chance" in row.symptom and row.remedy == f"left out after {runs} runs"


@pytest.mark.slow
@pytest.mark.parametrize(("requires", "runtime"), [(">=3.12", "3.13"), (">=3.7,<3.11", "3.9")])
def test_other_pythons_and_their_debian_packages(dig: Dig, requires: str, runtime: str) -> None:
    pyproject = SETUPTOOLS.replace('version = "1.4.0"', f'version = "1.4.0"\nrequires-python = "{requires}"')
    version = f"import sys\n\n\ndef test_python():\n    assert '%d.%d' % sys.version_info[:2] == '{runtime}'\n"
    found = dig(
        {
            "pyproject.toml": pyproject,
            "tests/test_zip.py": ZIPS,
            "tests/test_python.py": version,
            ".github/workflows/ci.yml": CI,
        }
    )
    assert found.row.status is Outcome.PASSED, found.message
    assert found.recipe and (found.recipe.runtime, found.recipe.system_packages) == (runtime, ("zip",))
    assert found.comparison and found.comparison.fail_to_pass == FAIL_TO_PASS
    wanted = {*PASS_TO_PASS, "tests/test_zip.py::test_zip", "tests/test_python.py::test_python"}
    assert set(found.comparison.pass_to_pass) == wanted
    assert [(row.symptom.partition(":")[0], row.remedy) for row in found.obstacles] == [
        ("no-such-package-anywhere", "left out")
    ]


def test_unittest_alone_with_files_of_its_own_pattern(dig: Dig) -> None:
    test = (
        "import unittest\nfrom kettle.core import boil\n\n\nclass Core(unittest.TestCase):\n"
        "    def test_nothing(self):\n        self.assertEqual(boil(0), 0)\n"
    )
    more = test + "\n    def test_a_litre(self):\n        self.assertEqual(boil(1), 334)\n"
    start = {
        "pyproject.toml": SETUPTOOLS.partition("[tool.pytest")[0]
        + '[tool.setuptools.packages.find]\nwhere = ["src"]\n',
        "tests/test_core.py": "",
        "tests/test_legacy.py": "",
        "src/kettle/tests/__init__.py": "",
        "src/kettle/tests/core_tests.py": test,
        ".github/workflows/ci.yml": CI.replace(
            "python -m pytest", 'python -m unittest discover -p "*tests.py" kettle'
        ).replace("zip ", ""),
    }
    found = dig(start, {"src/kettle/core.py": FIX, "src/kettle/tests/core_tests.py": more})
    assert found.row.status is Outcome.PASSED, found.message
    assert found.comparison and found.comparison.fail_to_pass == ("src/kettle/tests/core_tests.py::Core::test_a_litre",)
    assert found.comparison.pass_to_pass == ("src/kettle/tests/core_tests.py::Core::test_nothing",)


EXTENSION = """\
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, NULL};
PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&module); }
"""
SETUP_PY = (
    "from setuptools import Extension, find_packages, setup\n"
    "setup(name='kettle', version='1', packages=find_packages('src'), package_dir={'': 'src'},\n"
    "      ext_modules=[Extension('kettle._fast', ['src/kettle/_fast.c'])])\n"
)


def test_a_setup_py_from_before_editable_wheels_compiles_in_place(dig: Dig) -> None:
    found = dig(
        {
            "pyproject.toml": '[build-system]\nrequires = ["setuptools==57.5.0", "wheel"]\n',
            "setup.py": SETUP_PY,
            "src/kettle/_fast.c": EXTENSION,
            "tests/test_fast.py": "def test_fast():\n    import kettle._fast\n",
        }
    )
    assert found.row.status is Outcome.PASSED, found.message
    assert found.recipe and found.recipe.install == "develop"
    assert found.comparison and found.comparison.fail_to_pass == FAIL_TO_PASS
    assert "tests/test_fast.py::test_fast" in found.comparison.pass_to_pass
    assert [(row.remedy, row.resolved) for row in found.obstacles] == [("setup.py develop", True)]
