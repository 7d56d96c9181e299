"""Small JavaScript projects with one bug and its fix, one for each package manager and test tool."""

import json
from dataclasses import dataclass

from tests.history import MIT
from tests.tasks.projects import Files, Project

BUG = "{0} boil = litres => litres * 100\n{0} none = () => undefined\n"
FIX = "{0} boil = litres => Math.trunc(litres * 334.4)\n{0} none = () => undefined\n{0} cool = litres => litres - 1\n"

JEST_LIKE = """\
{imports}
describe('boil', () => {{
  it('nothing', () => {{ expect(boil(0)).toBe(0) }})
  it('a litre', () => {{ expect(boil(1)).toBe(334) }})
  it('cools', () => {{ expect(core.cool(2)).toBe(1) }})
  it.skip('later', () => {{ throw new Error('no') }})
}})
it('as ever', () => {{ expect(boil(1)).toBe(100) }})
it('throws', () => {{ none().size }})
it('wrong', () => {{ expect(() => none().size).toThrow(RangeError) }})
describe('hooked', () => {{
  beforeEach(() => {{ throw new Error('no water') }})
  it('set up', () => {{ expect(boil(0)).toBe(0) }})
}})
"""
ASSERTING = """\
{imports}
describe('boil', () => {{
  it('nothing', () => {{ assert.strictEqual(boil(0), 0) }})
  it('a litre', () => {{ assert.strictEqual(boil(1), 334) }})
  it('cools', () => {{ assert.strictEqual(core.cool(2), 1) }})
  it.skip('later', () => {{ throw new Error('no') }})
}})
it('as ever', () => {{ assert.strictEqual(boil(1), 100) }})
it('throws', () => {{ none().size }})
it('wrong', () => {{ assert.throws(() => none().size, RangeError) }})
describe('hooked', () => {{
  beforeEach(() => {{ throw new Error('no water') }})
  it('set up', () => {{ assert.strictEqual(boil(0), 0) }})
}})
"""
AVA = """\
import test from 'ava'
import * as core from '../src/core.mjs'
const {{ boil, none }} = core
test('boil > nothing', t => {{ t.is(boil(0), 0) }})
test('boil > a litre', t => {{ t.is(boil(1), 334) }})
test('boil > cools', t => {{ t.is(core.cool(2), 1) }})
test.skip('boil > later', t => {{ t.fail() }})
test('as ever', t => {{ t.is(boil(1), 100) }})
test('throws', t => {{ none().size; t.pass() }})
test('wrong', t => {{ t.throws(() => none().size, {{ instanceOf: RangeError }}) }})
""".replace("{{", "{").replace("}}", "}")

NAMES = {
    "nothing": "boil > nothing",
    "a litre": "boil > a litre",
    "cools": "boil > cools",
    "later": "boil > later",
    "as ever": "as ever",
    "throws": "throws",
    "wrong": "wrong",
    "set up": "hooked > set up",
}


@dataclass(frozen=True)
class Expected:
    """Where the tests of a project lie: ids are `<path>::<name>`."""

    file: str
    new: str
    """A test file of the outcome that needs a module only the outcome has."""

    def id(self, key: str) -> str:
        """Id of one of NAMES."""
        return f"{self.file}::{NAMES[key]}"


def package(**values: object) -> str:
    """A package.json."""
    return json.dumps({"name": "kettle", "version": "1.0.0", "license": "MIT", **values}, indent=2) + "\n"


def project(
    manifest: str,
    tests: str,
    new_test: str,
    *,
    ending: str,
    folder: str = "",
    declare: str = "export const",
    **more: str,
) -> Project:
    """`<folder>src/core.<ending>` and `<folder>test/core.test.<ending>`; the outcome brings extra.<ending> and its test."""
    where = folder
    source, test = f"{where}src/core.{ending}", f"{where}test/core.test.{ending}"
    extra = {name.replace("__", "/").replace("_DOT_", "."): text for name, text in more.items()}
    start: Files = {
        "LICENSE": MIT,
        "package.json": manifest,
        source: BUG.format(declare),
        test: tests.split("  it('cools'")[0].split("test('boil > cools'")[0] + ("" if "t =>" in tests else "})\n"),
        **extra,
    }
    change: Files = {
        source: FIX.format(declare),
        test: tests,
        f"{where}src/extra.{ending}": f"{declare} warm = () => 1\n",
        f"{where}test/new.test.{ending}": new_test,
    }
    return Project(start, change)
