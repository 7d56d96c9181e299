"""Built twice from scratch, each time with layers of its own: the same paths, bytes, modes and owners."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from blocks.engine import Engine
from blocks.repositories import MirrorCache
from tests.flows.command import ROOT
from tests.tasks.archaeology.cpp.projects import cmake_gtest
from tests.tasks.archaeology.node.projects import package
from tests.tasks.containerize.environments import Dug, Forge, dig, forging
from tests.tasks.projects import NEW_TESTS, Project, publish, src_layout

pytestmark = [pytest.mark.engine, pytest.mark.slow]

DIFFERS: dict[str, str] = {}
"""Paths (patterns) that may differ between two builds of the same inputs, each with the reason: none so far."""


@pytest.fixture
def forge(engine: Engine) -> Iterator[Forge]:
    yield from forging(engine)


def equal(forge: Forge, first: Dug, second: Dug, telling: str) -> dict[str, str]:
    """Build both; `telling` is a path that must be in the images, or the comparison says little."""
    trees = [forge.files(forge.anew(dug, name), dug) for dug, name in ((first, "a"), (second, "b"))]
    assert len(set(forge.made)) == len(forge.made), "nothing was shared but the runtime"
    assert any(re.search(telling, path) for path in trees[0]), sorted(trees[0])
    different = {
        path: (trees[0].get(path), trees[1].get(path))
        for path in sorted(trees[0].keys() | trees[1].keys())
        if trees[0].get(path) != trees[1].get(path) and not any(re.fullmatch(known, path) for known in DIFFERS)
    }
    assert different == {}
    return trees[0]


def test_pure_python(engine: Engine, python_image: str, forge: Forge, tmp_path: Path) -> None:
    """The repository of the sample contribution."""
    bundle = ROOT / "data" / "sample" / "repositories" / "gatehours.bundle"
    address = "https://github.com/lanternquay/gatehours"
    repository = MirrorCache(tmp_path / "mirrors", {address: str(bundle)}).open(address)
    history = repository.history("HEAD", since=datetime(2000, 1, 1, tzinfo=UTC), until=datetime(2100, 1, 1, tzinfo=UTC))
    end = next(commit for commit in history if commit.subject.startswith("Fix openings after"))
    dug = dig(engine, tmp_path / "home", repository, end.parents[0], end.sha)
    files = equal(forge, dug, dug, r"^opt/venv/.*\.pyc$")
    assert len(files) > 500
    assert not [path for path in files if re.search(r"uv_(cache|build)\.json$|\.dist-info/direct_url\.json$", path)][1:]


def with_extension() -> Project:
    """A C extension that is compiled in place, and asks the compiler for the time."""
    source = "#include <Python.h>\nstatic PyObject *when(PyObject *self, PyObject *no) {\n"
    source += '    return PyUnicode_FromString(__DATE__ " " __TIME__ " " __FILE__);\n}\n'
    source += 'static PyMethodDef methods[] = {{"when", when, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};\n'
    source += 'static struct PyModuleDef it = {PyModuleDef_HEAD_INIT, "_when", "", -1, methods};\n'
    source += "PyMODINIT_FUNC PyInit__when(void) { return PyModule_Create(&it); }\n"
    setup = "from setuptools import Extension, setup\nsetup(ext_modules=[Extension('kettle._when', ['src/_when.c'])])\n"
    core = "from kettle._when import when\n"
    made = src_layout()
    start = {
        **made.start,
        "setup.py": setup,
        "src/_when.c": source,
        "src/kettle/core.py": core + str(made.start["src/kettle/core.py"]),
    }
    change = {
        **made.change,
        "src/kettle/core.py": core + str(made.change["src/kettle/core.py"]),
        "tests/test_core.py": NEW_TESTS,
    }
    return Project(start, change)


def test_a_c_extension(engine: Engine, python_image: str, forge: Forge, tmp_path: Path) -> None:
    found = publish(tmp_path, with_extension())
    dug = dig(engine, tmp_path / "home", found.repository, found.start, found.end)
    equal(forge, dug, dug, r"^app/src/kettle/_when\..*\.so$")


def with_build() -> Project:
    """TypeScript, which its build step compiles; tests import what was built. No lock: the date decides."""
    manifest = package(
        type="module",
        scripts={"build": "tsc -p .", "test": "node --test"},
        devDependencies={"typescript": "^5.4.0", "ms": "^2.1.0"},
    )
    options = {"outDir": "dist", "module": "nodenext", "target": "es2022", "incremental": True, "strict": True}
    config = json.dumps({"compilerOptions": options, "include": ["src"]})
    bug = "export const boil = (litres: number) => litres * 100\n"
    tests = (
        "import { test } from 'node:test'\nimport assert from 'node:assert'\nimport { boil } from '../dist/core.js'\n"
    )
    tests += "test('nothing', () => { assert.strictEqual(boil(0), 0) })\n"
    start = {"package.json": manifest, "tsconfig.json": config, "src/core.ts": bug, "test/core.test.mjs": tests}
    fixed = tests + "test('a litre', () => { assert.strictEqual(boil(1), 334) })\n"
    return Project(start, {"src/core.ts": bug.replace("100", "334"), "test/core.test.mjs": fixed})


def test_typescript_that_is_compiled(engine: Engine, forge: Forge, tmp_path: Path) -> None:
    """Fetched twice as well: the archive of dependencies is the same, too."""
    found = publish(tmp_path, with_build())
    first, second = (dig(engine, tmp_path / name, found.repository, found.start, found.end) for name in ("a", "b"))
    assert first.recipe == second.recipe
    equal(forge, first, second, r"^app/dist/core\.js$")


def test_c_with_debian_packages(engine: Engine, forge: Forge, tmp_path: Path) -> None:
    found = publish(tmp_path, cmake_gtest())
    dug = dig(engine, tmp_path / "home", found.repository, found.start, found.end)
    equal(forge, dug, dug, r"^usr/include/gtest/gtest\.h$")
