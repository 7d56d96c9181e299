"""Both states of small C and C++ projects, built and tested in real containers: one for each build system.

The values are by hand: boil(1) is 100 in the start and 334 after the fix.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from blocks.engine import Container, ContainerSpec, Engine, Network, Role
from blocks.lake import open_store
from blocks.records import FailureKind, Outcome
from blocks.settings import GateSettings, Settings
from blocks.trees import Tree
from blocks.vectors import TestVector
from tasks.archaeology.reconstruct import Reconstruction, reconstruct
from tests.tasks.archaeology.cpp import projects
from tests.tasks.projects import Project, publish

pytestmark = [pytest.mark.engine, pytest.mark.slow]

Dig = Callable[[Project], Reconstruction]


@pytest.fixture
def dig(engine: Engine, engine_settings: Settings, tmp_path: Path) -> Dig:
    settings = engine_settings.model_copy(update={"gates": GateSettings(repeats=1)})

    def one(project: Project) -> Reconstruction:
        found = publish(tmp_path, project)
        return reconstruct(
            engine,
            open_store(settings),
            settings,
            found.repository,
            candidate_id="c-kettle",
            start_commit=found.start,
            end_commit=found.end,
        )

    return one


def sets(found: Reconstruction) -> tuple[tuple[str, ...], ...]:
    assert found.row.status is Outcome.PASSED, found.message
    assert found.comparison is not None
    return found.comparison.fail_to_pass, found.comparison.pass_to_pass, found.comparison.pass_to_fail


def kinds(vector: TestVector | None) -> dict[str, FailureKind | None]:
    assert vector is not None and vector.complete
    return {test: result.failure_kind for test, result in vector.results.items() if result.status == "failed"}


def test_cmake_with_googletest(dig: Dig) -> None:
    """A test file that needs a new name takes only its own tests with it."""
    found = dig(projects.cmake_gtest())
    assert sets(found) == (
        ("kettle::Boil.Litre", "kettle::Heat.Litre"),
        ("kettle::Boil.Nothing", "kettle::Cool.Litre"),
        (),
    )
    assert kinds(found.before) == {
        "kettle::Boil.Litre": FailureKind.ASSERTION,
        "kettle::Cool.Throws": FailureKind.ERROR,
        "tests/heat_test.cpp": FailureKind.COMPILE,
    }
    assert found.before is not None and found.before.results["kettle::Cool.Skipped"].status == "skipped"
    assert found.before.collection_errors == ("tests/heat_test.cpp",)
    assert found.after is not None and found.after.collection_errors == ()
    assert [row.remedy for row in found.obstacles] == ["their tests count as failing before"]
    assert found.recipe is not None and found.recipe.build is not None
    assert (found.recipe.stack, found.recipe.runtime, found.recipe.runner) == ("cpp", "bookworm", "native")
    assert {package.name for package in found.recipe.packages} >= {"googletest", "libgtest-dev"}
    assert "-DKETTLE_BUILD_TESTS=ON" in found.recipe.build.options


def test_cmake_with_plain_programs(dig: Dig) -> None:
    found = dig(projects.cmake_plain())
    assert sets(found) == (("test_boils",), ("test_nothing",), ("test_as_ever",))
    assert kinds(found.after) == {"test_as_ever": FailureKind.ASSERTION, "test_crashes": FailureKind.ERROR}


def test_make(dig: Dig) -> None:
    found = dig(projects.make_plain())
    assert sets(found) == (
        ("tests/test_boils",),
        ("tests/all.sh", "tests/test_nothing"),
        ("tests/test_as_ever",),
    )
    assert kinds(found.after) == {"tests/test_as_ever": FailureKind.ASSERTION, "tests/test_crashes": FailureKind.ERROR}


def test_meson(dig: Dig) -> None:
    found = dig(projects.meson())
    assert sets(found) == (("boils",), ("nothing",), ("as_ever",))
    assert kinds(found.after) == {"as_ever": FailureKind.ASSERTION, "crashes": FailureKind.ERROR}


def test_autotools(dig: Dig) -> None:
    found = dig(projects.autotools())
    assert sets(found) == (("test_boils",), ("test_nothing",), ("test_as_ever",))
    assert kinds(found.after) == {"test_as_ever": FailureKind.ASSERTION, "test_crashes": FailureKind.ASSERTION}


REACHES = """\
file(DOWNLOAD http://192.0.2.1/x ${CMAKE_BINARY_DIR}/x STATUS told TIMEOUT 3)
list(GET told 0 code)
if(code EQUAL 0)
  message(FATAL_ERROR "the build has a network")
endif()
"""


def test_what_a_build_would_fetch_it_does_not_get(dig: Dig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fetch container is given names of Debian packages and no file; what builds and tests has no network."""
    seen: list[tuple[ContainerSpec, list[str]]] = []
    start = Engine.container

    def container(self: Engine, spec: ContainerSpec) -> Container:
        box, put = start(self, spec), list[str]()
        seen.append((spec, put))
        write = box.put_tree

        def put_tree(files: Tree, dest: str, *, uid: int = 0, gid: int = 0) -> None:
            put.extend(files)
            write(files, dest, uid=uid, gid=gid)

        setattr(box, "put_tree", put_tree)  # noqa: B010 - mypy refuses to assign to a method
        return box

    monkeypatch.setattr(Engine, "container", container)
    plain = projects.cmake_plain()
    lists = f"{plain.start['CMakeLists.txt']}\n{REACHES}"
    found = dig(Project({**plain.start, "CMakeLists.txt": lists}, plain.change))
    assert sets(found) == (("test_boils",), ("test_nothing",), ("test_as_ever",))
    for spec, put in seen:
        if spec.network is not Network.NONE:
            assert spec.role is Role.FETCH and put == []
        if "CMakeLists.txt" in put:
            assert (spec.role, spec.user) == (Role.SUBJECT, "agent")
