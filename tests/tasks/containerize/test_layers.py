"""Two candidates of one repository, an hour apart in its history, that need the same packages: all but the code is shared."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blocks.engine import Engine
from blocks.repositories import MirrorCache
from tests.history import History
from tests.tasks.containerize.environments import Forge, dig, forging
from tests.tasks.containerize.test_determinism import with_build
from tests.tasks.projects import FIX, NEW_TESTS, Project, src_layout

pytestmark = [pytest.mark.engine, pytest.mark.slow]
IDENTITY = "https://github.com/example/kettle"
CODE_BYTES = 1 << 20
"""More than a start tree of a few files, its install and their folders take."""


@pytest.fixture
def forge(engine: Engine) -> Iterator[Forge]:
    yield from forging(engine)


def python() -> tuple[Project, Project]:
    """Two bugs, mended one after the other, each with a test."""
    made = src_layout()
    manifest = str(made.start["pyproject.toml"]).replace('["pytest"]', '["pytest==8.4.0"]')
    pinned = Project({**made.start, "pyproject.toml": manifest}, made.change)
    cooler = FIX.replace("litres - 1", "max(0, litres - 1)")
    tests = NEW_TESTS + "\n\ndef test_no_less_than_nothing():\n    assert cool(0) == 0\n"
    return pinned, Project({"README.md": "# kettle\n"}, {"src/kettle/core.py": cooler, "tests/test_core.py": tests})


def node() -> tuple[Project, Project]:
    made = with_build()
    source, tests = str(made.change["src/core.ts"]), str(made.change["test/core.test.mjs"])
    cool = "export const cool = (litres: number) => litres\n"
    tested = tests.replace("{ boil }", "{ boil, cool }") + "test('cools', () => { assert.strictEqual(cool(1), 0) })\n"
    start = {"src/core.ts": source + cool}
    return made, Project(
        start, {"src/core.ts": source + cool.replace("=> litres", "=> litres - 1"), "test/core.test.mjs": tested}
    )


@pytest.mark.parametrize("projects", [python, node])
def test_the_second_candidate_adds_its_code_only(
    engine: Engine,
    python_image: str,
    forge: Forge,
    tmp_path: Path,
    projects: Callable[[], tuple[Project, Project]],
    record_property: Callable[[str, object], None],
) -> None:
    first, second = projects()
    history = History(tmp_path / "origin")
    commits = [
        history.commit(files, f"Change {number}", day=number / 100)
        for number, files in enumerate((first.start, first.change, second.start, second.change))
    ]
    repository = MirrorCache(tmp_path / "mirrors", {IDENTITY: str(history.folder)}).open(IDENTITY)
    dug = [dig(engine, tmp_path / "home", repository, *commits[at : at + 2]) for at in (0, 2)]
    assert dug[0].recipe.as_of != dug[1].recipe.as_of, "the dates differ"
    assert dug[0].recipe.packages == dug[1].recipe.packages and dug[0].recipe.packages, "what they bring does not"
    assert dug[0].start != dug[1].start

    runtime = forge.runtime(dug[0], "layers")
    images = [forge.environment(each, runtime, f"kettle-{number}") for number, each in enumerate(dug)]

    below = forge.below(dug[0], runtime)
    assert forge.below(dug[1], runtime) == below
    layers = [forge.layers(image) for image in images]
    assert layers[0][:-1] == layers[1][:-1] == forge.layers(below)
    assert layers[0][-1] != layers[1][-1]
    own = [engine.unique_bytes(image, below) for image in images]
    assert all(0 < size < CODE_BYTES for size in own), own
    dependencies = engine.unique_bytes(below, runtime)
    assert dependencies > CODE_BYTES
    record_property("bytes", {"shared": dependencies, "own": own})
