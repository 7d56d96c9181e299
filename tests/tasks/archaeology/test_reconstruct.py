"""Both states of small real projects, rebuilt and tested in real containers: one for each way of declaring."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from blocks.builder.places import AGENT_USER
from blocks.engine import Container, ContainerSpec, Engine, Network, Owner, Role
from blocks.lake import ObjectStore, open_store
from blocks.records import Outcome, ReasonCode
from blocks.settings import GateSettings, Settings, TimeoutSettings
from blocks.trees import Tree
from tasks.archaeology.reconstruct import Reconstruction, reconstruct
from tests.tasks.projects import (
    BUG,
    FAIL_TO_PASS,
    FIX,
    ITSELF,
    NEW_TESTS,
    PASS_TO_FAIL,
    PASS_TO_PASS,
    REPAIR,
    SETUPTOOLS,
    Project,
    publish,
    src_layout,
)

pytestmark = pytest.mark.engine

FLAT = {"kettle/__init__.py": "", "kettle/core.py": BUG}
FLAT_REPAIR = {**REPAIR, "kettle/core.py": FIX}
VERSION_TEST = (
    "import importlib.metadata\n\n\ndef test_version():\n    assert importlib.metadata.version('kettle') == '{0}'\n"
)


class SpyEngine(Engine):
    """The real engine, with a note of what was started and what was put in."""

    seen: list[tuple[ContainerSpec, list[Mapping[str, object]]]]

    def container(self, spec: ContainerSpec) -> Container:
        box = super().container(spec)
        put: list[Mapping[str, object]] = []
        self.seen.append((spec, put))
        original = box.put_tree

        def put_tree(tree: Tree, dest: str, *, uid: int = 0, gid: int = 0) -> None:
            put.append(dict(tree))
            original(tree, dest, uid=uid, gid=gid)

        setattr(box, "put_tree", put_tree)  # noqa: B010 - mypy refuses to assign to a method
        return box


@pytest.fixture(scope="module")
def spy(engine: Engine, engine_settings: Settings, python_image: str) -> Iterator[SpyEngine]:
    made = SpyEngine.connect(engine_settings.engine, Owner.current())
    assert isinstance(made, SpyEngine)
    made.seen = []
    yield made


@pytest.fixture(scope="module")
def store(engine_settings: Settings) -> ObjectStore:
    return open_store(engine_settings)


Dig = Callable[..., Reconstruction]


@pytest.fixture
def dig(spy: SpyEngine, store: ObjectStore, engine_settings: Settings, tmp_path: Path) -> Dig:
    """Reconstruct a project; `tests_sec` shortens the deadline of its tests, `repeats` is how often both states run."""

    def run(project: Project, *, tests_sec: int = 300, repeats: int = 1) -> Reconstruction:
        found = publish(tmp_path, project)
        settings = engine_settings.model_copy(
            update={"timeouts": TimeoutSettings(tests_sec=tests_sec), "gates": GateSettings(repeats=repeats)}
        )
        spy.seen.clear()
        return reconstruct(
            spy,
            store,
            settings,
            found.repository,
            candidate_id="c-1",
            start_commit=found.start,
            end_commit=found.end,
        )

    return run


def sets(found: Reconstruction) -> tuple[tuple[str, ...], ...]:
    assert found.comparison is not None, found.message
    return found.comparison.fail_to_pass, found.comparison.pass_to_pass, found.comparison.pass_to_fail


def test_src_layout_with_a_pyproject(dig: Dig, spy: SpyEngine) -> None:
    project = src_layout(
        setup=OFFLINE_SETUP, tests__test_installed=INSTALLED_OFFLINE, tests__test_reaching_out=REACHES_OUT
    )
    found = dig(project, repeats=3)
    assert (found.row.status, found.row.reason_code) == (Outcome.PASSED, ReasonCode.OK)
    installed = "tests/test_installed.py::test_the_install_had_no_network"
    assert sets(found) == (FAIL_TO_PASS, (*PASS_TO_PASS, installed), PASS_TO_FAIL)
    assert found.after and "tests/test_reaching_out.py::test_it" in found.after.results, "it ran, and failed"
    assert found.recipe and (found.recipe.install, found.recipe.project_name) == ("editable", "kettle")
    assert found.recipe.arguments == ("--strict-markers",)
    (outside,) = found.obstacles
    assert outside.symptom == "1 test (tests/test_reaching_out.py::test_it) need the network"
    assert (found.row.insertions, found.row.deletions, found.row.files_changed) == (5, 1, 2)
    assert {"pytest", "setuptools", "wheel"} <= {package.name for package in found.recipe.packages}
    _fetching_and_running_are_apart(spy, runs=3)


def _fetching_and_running_are_apart(spy: SpyEngine, *, runs: int = 1) -> None:
    builds = [put for _, put in spy.seen if any(name.endswith(".tar.gz") for tree in put for name in tree)]
    roles = [spec.role for spec, _ in spy.seen]
    assert roles.count(Role.SUBJECT) == 2 * runs + len(builds)
    for spec, put in spy.seen:
        names = {name for tree in put for name in tree}
        if spec.network is Network.FETCH:
            assert spec.role is Role.FETCH
            assert names <= FETCHED
            assert spec.user == AGENT_USER
        if any(name.endswith(".tar.gz") for name in names):
            assert (spec.role, spec.network, spec.user) == (Role.SUBJECT, Network.NONE, AGENT_USER), "a build"
        if any("kettle" in name or name.startswith("tests/") for name in names):
            assert (spec.role, spec.network) == (Role.SUBJECT, Network.NONE)


FETCHED = {"requirements.in", "constraints.txt", "uv.toml", "orders.json", "source_fetch.py"}
"""What a fetch container is given: requirement strings, settings of uv, and the script that downloads sources."""
OFFLINE_SETUP = """\
import pathlib, socket
from setuptools import setup
try:
    socket.create_connection(("192.0.2.1", 80), 3)
    said = "connected"
except OSError as error:
    said = f"no network: {error}"
pathlib.Path(__file__).with_name("install.txt").write_text(said)
setup()
"""
INSTALLED_OFFLINE = """\
import pathlib

def test_the_install_had_no_network():
    said = pathlib.Path(__file__).parents[1].joinpath("install.txt").read_text()
    assert said.startswith("no network"), said
"""
REACHES_OUT = """\
import socket

def test_it():
    socket.create_connection(("192.0.2.1", 80), 3)
"""


def test_flat_layout_with_setup_cfg_and_setup_py(dig: Dig) -> None:
    cfg = "[metadata]\nname = kettle\nversion = 2.0\n[options]\npackages = kettle\n[options.extras_require]\ntest = pytest\n"
    start = {**ITSELF, **FLAT, "setup.cfg": cfg, "setup.py": "from setuptools import setup\n\nsetup()\n"}
    found = dig(Project({**start, "tests/test_version.py": VERSION_TEST.format("2.0")}, FLAT_REPAIR))
    assert found.row.status is Outcome.PASSED, found.message
    assert sets(found) == (FAIL_TO_PASS, (*PASS_TO_PASS, "tests/test_version.py::test_version"), PASS_TO_FAIL)
    assert found.recipe and found.recipe.install == "editable"


def test_poetry(dig: Dig) -> None:
    pyproject = """\
[build-system]
requires = ["poetry-core>=1.8"]
build-backend = "poetry.core.masonry.api"
[tool.poetry]
name = "kettle"
version = "3.1"
description = ""
authors = []
[tool.poetry.dependencies]
python = "^3.9"
iniconfig = "~2.0"
[tool.poetry.group.test.dependencies]
pytest = ">=7,<9"
"""
    found = dig(Project({**ITSELF, **FLAT, "pyproject.toml": pyproject}, FLAT_REPAIR))
    assert found.row.status is Outcome.PASSED, found.message
    assert sets(found) == (FAIL_TO_PASS, PASS_TO_PASS, PASS_TO_FAIL)
    assert found.recipe and found.recipe.install == "editable"
    assert {package.name: package.version for package in found.recipe.packages}["iniconfig"] == "2.0.0"


def test_requirements_alone(dig: Dig) -> None:
    found = dig(Project({**ITSELF, **FLAT, "requirements.txt": "pytest\n"}, FLAT_REPAIR))
    assert found.row.status is Outcome.PASSED, found.message
    assert sets(found) == (FAIL_TO_PASS, PASS_TO_PASS, PASS_TO_FAIL)
    assert found.recipe and found.recipe.install == "path"
    (obstacle,) = found.obstacles
    assert obstacle.symptom.startswith("editable install failed") and obstacle.resolved


def test_a_version_that_is_asked_of_git(dig: Dig) -> None:
    pyproject = SETUPTOOLS.replace('version = "1.4.0"', 'dynamic = ["version"]').replace(
        '"wheel"]', '"wheel", "setuptools_scm"]'
    )
    start = {
        **ITSELF,
        **FLAT,
        "pyproject.toml": f"{pyproject}[tool.setuptools_scm]\n[tool.setuptools]\npackages=['kettle']\n",
    }
    project = Project({**start, "tests/test_version.py": VERSION_TEST.format("5.2.1")}, FLAT_REPAIR, tags=("v5.2.1",))
    found = dig(project)
    assert found.row.status is Outcome.PASSED, found.message
    assert sets(found) == (FAIL_TO_PASS, (*PASS_TO_PASS, "tests/test_version.py::test_version"), PASS_TO_FAIL)
    assert found.recipe and (found.recipe.install, found.recipe.project_version) == ("editable", "5.2.1")


def test_what_landed_in_between_proves_nothing(dig: Dig) -> None:
    """Another commit's feature and its test are in the outcome's tree, not in the solution."""
    project = src_layout()
    feature = {
        "src/kettle/milk.py": "FAT = 3\n",
        "tests/test_milk.py": "from kettle.milk import FAT\n\n\ndef test_fat():\n    assert FAT == 3\n",
    }
    found = dig(Project(project.start, project.change, between=feature))
    assert found.row.status is Outcome.PASSED, found.message
    assert sets(found) == (FAIL_TO_PASS, PASS_TO_PASS, PASS_TO_FAIL)
    assert found.states and found.states.carried and "src/kettle/milk.py" not in found.states.solution


def test_a_solution_that_deletes_a_test_file(dig: Dig) -> None:
    project = src_layout()
    found = dig(Project(project.start, {**project.change, "tests/test_legacy.py": None}))
    assert found.row.status is Outcome.PASSED, found.message
    assert sets(found) == (FAIL_TO_PASS, PASS_TO_PASS, ())
    assert found.states and found.states.removed_tests == ("tests/test_legacy.py",)
    assert found.before and "tests/test_legacy.py::test_as_ever" not in found.before.results


def test_tests_that_hang(dig: Dig) -> None:
    project = src_layout()
    hanging = NEW_TESTS + "\n\ndef test_forever():\n    import time\n    time.sleep(1000)\n"
    found = dig(Project(project.start, {**project.change, "tests/test_core.py": hanging}), tests_sec=3)
    assert (found.row.status, found.row.reason_code) == (Outcome.FAILED, ReasonCode.TESTS_TIMED_OUT)


def test_a_bug_that_is_not_seen(dig: Dig) -> None:
    project = src_layout()
    harmless = {"tests/test_core.py": str(ITSELF["tests/test_core.py"]).replace("test_nothing", "test_none")}
    found = dig(Project(project.start, {**harmless, "src/kettle/core.py": BUG + "\n\nSPOUT = 1\n"}))
    assert (found.row.status, found.row.reason_code) == (Outcome.REJECTED, ReasonCode.BUG_NOT_SEEN)
    assert (found.row.pass_to_pass, found.row.fail_to_pass) == (2, 0)


def test_a_solution_whose_tests_cannot_be_collected(dig: Dig) -> None:
    project = src_layout()
    change = {"tests/test_core.py": "import no_such_module\n", "tests/test_legacy.py": None, "src/kettle/core.py": FIX}
    found = dig(Project(project.start, change))
    assert (found.row.status, found.row.reason_code) == (Outcome.FAILED, ReasonCode.TESTS_NOT_COLLECTED)
    assert "no_such_module" in found.message


def test_a_package_that_exists_as_source_only(dig: Dig, spy: SpyEngine) -> None:
    project = src_layout()
    pyproject = SETUPTOOLS.replace('version = "1.4.0"', 'version = "1.4.0"\ndependencies = ["docopt==0.6.2"]')
    found = dig(Project({**project.start, "pyproject.toml": pyproject}, project.change))
    assert found.row.status is Outcome.PASSED, found.message
    tried, built = found.obstacles
    assert tried.symptom.startswith("wheels only, as of the outcome: ") and "docopt" in tried.symptom
    assert (tried.remedy, tried.resolved) == ("source packages built in their own containers", True)
    assert built.symptom == "docopt 0.6.2 exists as source only" and "without a network" in built.remedy
    assert found.recipe and "docopt" in {package.name for package in found.recipe.packages}
    assert all(package.filename.endswith(".whl") for package in found.recipe.packages)
    _fetching_and_running_are_apart(spy)


def test_requirements_nobody_can_meet(dig: Dig, spy: SpyEngine) -> None:
    project = src_layout()
    pyproject = SETUPTOOLS.replace('["pytest"]', '["pytest", "attrs==23.1.0", "attrs==22.2.0"]')
    found = dig(Project({**project.start, "pyproject.toml": pyproject}, project.change))
    assert (found.row.status, found.row.reason_code) == (Outcome.FAILED, ReasonCode.DEPENDENCIES_UNRESOLVED)
    assert "attrs==23.1.0" in found.message
    assert [(row.attempt, row.symptom.split(":")[0], row.remedy, row.resolved) for row in found.obstacles[:3]] == [
        (1, "wheels only, as of the outcome", "source packages built in their own containers", False),
        (2, "source packages built in their own containers", "thirty days after the outcome", False),
        (3, "thirty days after the outcome", "none left", False),
    ]
    tried = found.obstacles[3]
    assert tried.remedy.endswith(": later 7") and not tried.resolved, "the table's own way does not help either"
    assert {spec.role for spec, _ in spy.seen} == {Role.FETCH}


@pytest.mark.parametrize(
    ("start", "change", "status", "reason"),
    [
        ({}, {"src/kettle/core.py": FIX}, Outcome.NEEDS_MODEL, ReasonCode.OUTCOME_HAS_NO_TESTS),
        (
            {"pyproject.toml": SETUPTOOLS.replace('"1.4.0"', '"1.4.0"\nrequires-python = ">=3.14"')},
            {**REPAIR, "src/kettle/core.py": FIX},
            Outcome.REJECTED,
            ReasonCode.RUNTIME_NOT_AVAILABLE,
        ),
        (
            {"pyproject.toml": None},
            {**REPAIR, "src/kettle/core.py": FIX},
            Outcome.REJECTED,
            ReasonCode.STACK_NOT_SUPPORTED,
        ),
    ],
    ids=["no tests", "a Python there is no image for", "no manifest"],
)
def test_what_ends_before_any_container(
    dig: Dig,
    spy: SpyEngine,
    start: Mapping[str, str | None],
    change: Mapping[str, str],
    status: Outcome,
    reason: ReasonCode,
) -> None:
    files = {path: text for path, text in {**src_layout().start, **start}.items() if text is not None}
    found = dig(Project(files, change))
    assert (found.row.status, found.row.reason_code) == (status, reason)
    assert found.message and spy.seen == []
