"""One repository with Python in `backend/` beside JavaScript in `frontend/`, and things at its root that must not be used."""

from tests.history import MIT
from tests.tasks.archaeology.node.projects import package
from tests.tasks.projects import BUG, FIX, LEGACY, NEW_TESTS, OLD_TESTS, SETUPTOOLS, Files, Project

WORKFLOW = """\
name: CI
on: push
jobs:
  backend:
    runs-on: ubuntu-latest
    defaults: {run: {working-directory: backend}}
    steps:
      - uses: actions/setup-python@v5
        with: {python-version: "3.11"}
      - run: pip install -e .[test] -r ../requirements-shared.txt
      - run: python -m pytest --strict-markers
  frontend:
    runs-on: ubuntu-latest
    steps:
      - run: cd frontend && npm ci && npm test
"""
WHERE = """\
from pathlib import Path

import six


def test_where(pytestconfig):
    assert Path("only_here.txt").read_text() == "backend"
    assert pytestconfig.rootpath == Path.cwd()
    assert six.PY3
"""
SCRIPT_BUG = "exports.boil = litres => litres * 100\nexports.cool = litres => litres - 1\n"
SCRIPT_FIX = SCRIPT_BUG.replace("litres * 100", "Math.trunc(litres * 334.4)")
SCRIPT_TESTS = """\
const assert = require('node:assert')
const fs = require('node:fs')
const { boil, cool } = require('../src/core.js')
describe('kettle', () => {
  it('cools', () => { assert.equal(cool(2), 1) })
  it('is here', () => { assert.equal(fs.readFileSync('only_here.txt', 'utf8'), 'frontend') })
"""
SCRIPT_OLD, SCRIPT_NEW = (
    f"{SCRIPT_TESTS}}})\n",
    f"{SCRIPT_TESTS}  it('boils', () => {{ assert.equal(boil(1), 334) }})\n}})\n",
)
SCRIPT_MORE = SCRIPT_NEW.replace("'boils'", "'boils more'").replace("boil(1), 334", "boil(2), 668")

START: Files = {
    "LICENSE": MIT,
    "package.json": '{"name": "stove", "private": true, "scripts": {"lint": "true"}}\n',
    "conftest.py": "raise SystemExit('this is not of the backend')\n",
    "requirements-shared.txt": "six\n",
    ".github/workflows/ci.yml": WORKFLOW,
    "backend/pyproject.toml": SETUPTOOLS,
    "backend/only_here.txt": "backend",
    "backend/src/kettle/__init__.py": "",
    "backend/src/kettle/core.py": BUG,
    "backend/tests/test_core.py": OLD_TESTS,
    "backend/tests/test_legacy.py": LEGACY,
    "backend/tests/test_where.py": WHERE,
    "frontend/package.json": package(scripts={"test": "mocha"}, devDependencies={"mocha": "^10.2.0"}),
    "frontend/only_here.txt": "frontend",
    "frontend/src/core.js": SCRIPT_BUG,
    "frontend/test/core.test.js": SCRIPT_OLD,
    "frontend/.mocharc.json": '{"spec": "test/**/*.test.js"}\n',
}


def of_the_backend() -> Project:
    """An outcome that changes two test files of the backend, and one of the frontend."""
    change = {
        "backend/src/kettle/core.py": FIX,
        "backend/tests/test_core.py": NEW_TESTS,
        "backend/tests/test_more.py": "from kettle.core import boil\n\n\ndef test_two():\n    assert boil(2) == 668\n",
        "frontend/src/core.js": SCRIPT_FIX,
        "frontend/test/core.test.js": SCRIPT_NEW,
    }
    return Project(START, change)


def of_the_frontend() -> Project:
    """An outcome that changes two test files of the frontend, and one of the backend."""
    change = {
        "frontend/src/core.js": SCRIPT_FIX,
        "frontend/test/core.test.js": SCRIPT_NEW,
        "frontend/test/more.test.js": SCRIPT_MORE,
        "backend/tests/test_core.py": OLD_TESTS + "\n\ndef test_one():\n    assert boil(1) == 100\n",
    }
    return Project(START, change)
