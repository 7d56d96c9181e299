"""Both states of small JavaScript projects, rebuilt and tested in real containers: one for each manager and tool."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from blocks.engine import Engine
from blocks.lake import ObjectStore, open_store
from blocks.records import FailureKind, ObstacleRow, Outcome
from blocks.settings import GateSettings, Settings, TimeoutSettings
from blocks.vectors import TestStatus
from tasks.archaeology.reconstruct import Reconstruction, reconstruct
from tests.tasks.archaeology.node.projects import ASSERTING, AVA, JEST_LIKE, Expected, package, project
from tests.tasks.projects import Project, publish

pytestmark = pytest.mark.engine

Dig = Callable[[Project], Reconstruction]
MS = "sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA=="


@pytest.fixture(scope="module")
def store(engine_settings: Settings) -> ObjectStore:
    return open_store(engine_settings)


@pytest.fixture
def dig(engine: Engine, store: ObjectStore, engine_settings: Settings, tmp_path: Path) -> Dig:
    def run(made: Project) -> Reconstruction:
        found = publish(tmp_path, made)
        update = {"timeouts": TimeoutSettings(tests_sec=120), "gates": GateSettings(repeats=1)}
        return reconstruct(
            engine,
            store,
            engine_settings.model_copy(update=update),
            found.repository,
            candidate_id="c-1",
            start_commit=found.start,
            end_commit=found.end,
        )

    return run


SETUP: Mapping[str, FailureKind] = {"set up": FailureKind.SETUP}


def holds(
    found: Reconstruction,
    expected: Expected,
    *,
    is_telling: bool = True,
    setup: Mapping[str, FailureKind] | None = SETUP,
) -> None:
    """The sets worked out by hand, and why each test failed; not of bun, which hardly tells."""
    assert found.row.status is Outcome.PASSED, found.message
    assert found.comparison is not None and found.before is not None and found.after is not None
    new = f"{expected.new}::warms"
    assert found.comparison.fail_to_pass == tuple(sorted((expected.id("a litre"), expected.id("cools"), new)))
    assert found.comparison.pass_to_pass == (expected.id("nothing"),)
    assert found.comparison.pass_to_fail == (expected.id("as ever"),)
    before, after = found.before.results, found.after.results
    assert found.before.complete and found.after.complete
    kinds = {key: before[expected.id(key)].failure_kind for key in ("a litre", "cools", "throws", "nothing")}
    assert kinds == {
        "a litre": FailureKind.ASSERTION,
        "cools": FailureKind.MISSING_NAME if is_telling else FailureKind.ERROR,
        "throws": FailureKind.ERROR,
        "nothing": None,
    }
    assert after[expected.id("later")].status is TestStatus.SKIPPED
    if is_telling:
        assert "is not a function" in before[expected.id("cools")].detail
        assert before[expected.new].failure_kind is FailureKind.IMPORT, before[expected.new]
        assert found.before.collection_errors == (expected.new,)
    assert found.after.collection_errors == ()
    told = {key: before[expected.id(key)].failure_kind for key in ("wrong", "set up") if expected.id(key) in before}
    assert told == ({"wrong": FailureKind.WRONG_EXCEPTION, **(setup or {})} if is_telling else told), before
    assert len(after) == 7 + len(told), sorted(after)


def hurdles(found: Reconstruction) -> list[ObstacleRow]:
    """What stood in the way of a build; not that the new test cannot be loaded before."""
    return [row for row in found.obstacles if row.remedy != "their tests count as failing before"]


def test_npm_and_jest(dig: Dig) -> None:
    manifest = package(scripts={"test": "jest --coverage"}, devDependencies={"jest": "^29.7.0"})
    made = project(
        manifest,
        JEST_LIKE.format(imports="const core = require('../src/core.js')\nconst { boil, none } = core"),
        "const { warm } = require('../src/extra.js')\ntest('warms', () => { expect(warm()).toBe(1) })\n",
        ending="js",
        declare="exports.",
    )
    found = dig(_common(made))
    holds(found, Expected("test/core.test.js", "test/new.test.js"))
    assert found.recipe and found.recipe.node and found.recipe.node.links == ("node_modules",)
    assert [package.filename for package in found.recipe.packages] == ["node_modules.tar.gz"]


def test_npm_and_vitest_where_the_start_needs_what_the_outcome_dropped(dig: Dig) -> None:
    tools = {"vitest": "^3.2.4"}
    scripts = {"test": "npm run lint && vitest", "lint": "false"}
    made = project(
        package(type="module", scripts=scripts, devDependencies=tools, dependencies={"ms": "2.1.3"}),
        JEST_LIKE.format(
            imports="import { beforeEach, describe, expect, it } from 'vitest'\nimport * as core from '../src/core'\n"
            "const { boil, none }: any = core"
        ).replace("core.cool", "(core as any).cool"),
        "import { expect, test } from 'vitest'\nimport { warm } from '../src/extra'\n"
        "test('warms', () => { expect(warm()).toBe(1) })\n",
        ending="ts",
        src__needs_DOT_ts="import 'ms'\n",
    )
    change = {**made.change, "package.json": package(type="module", scripts=scripts, devDependencies=tools)}
    start = {path: text.replace("litres =>", "(litres: number) =>") if path.endswith("core.ts") and text else text
             for path, text in made.start.items()}  # fmt: skip
    start["test/needs.test.ts"] = "import { test } from 'vitest'\nimport '../src/needs'\ntest('needs', () => {})\n"
    found = dig(Project(start, {**change, "src/needs.ts": None, "test/needs.test.ts": None}))
    holds(
        found, Expected("test/core.test.ts", "test/new.test.ts"), setup={"set up": FailureKind.ERROR}
    )  # it tells no hooks


def test_pnpm_workspace_with_a_lock_and_a_package_that_has_to_be_built(dig: Dig) -> None:
    lock = f"""\
lockfileVersion: '9.0'
settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false
importers:
  .: {{}}
  packages/app:
    dependencies:
      '@kettle/core':
        specifier: workspace:*
        version: link:../core
      ms:
        specifier: 2.1.3
        version: 2.1.3
  packages/core: {{}}
packages:
  ms@2.1.3:
    resolution: {{integrity: {MS}}}
snapshots:
  ms@2.1.3: {{}}
"""
    build = "require('fs').cpSync('src', 'dist', { recursive: true })\n"
    app = {"name": "app", "private": True, "type": "module", "scripts": {"test": "node --test"}}
    made = project(
        package(private=True, scripts={"test": "pnpm -r test"}),
        ASSERTING.format(
            imports="import assert from 'node:assert'\nimport { beforeEach, describe, it } from 'node:test'\nimport 'ms'\n"
            "import * as core from '@kettle/core'\nconst { boil, none } = core"
        ),
        "import { test } from 'node:test'\nimport { warm } from '@kettle/core/extra'\ntest('warms', () => { warm() })\n",
        ending="mjs",
        folder="packages/core/",
        pnpm_DOT_lock="",
    )
    core = json.dumps(
        {
            "name": "@kettle/core",
            "exports": {".": "./dist/core.mjs", "./extra": "./dist/extra.mjs"},
            "scripts": {"build": "node build.cjs"},
        }
    )
    moved = {path.replace("packages/core/test", "packages/app/test"): text for path, text in made.start.items()}
    start = {
        **moved,
        "pnpm-lock.yaml": lock,
        "pnpm-workspace.yaml": "packages:\n  - packages/*\n",
        "packages/core/package.json": core,
        "packages/core/build.cjs": build,
        "packages/app/package.json": json.dumps(
            {**app, "dependencies": {"@kettle/core": "workspace:*", "ms": "2.1.3"}}
        ),
    }
    change = {path.replace("packages/core/test", "packages/app/test"): text for path, text in made.change.items()}
    found = dig(Project(start, change))
    holds(found, Expected("packages/app/test/core.test.mjs", "packages/app/test/new.test.mjs"))
    assert hurdles(found) == []
    assert found.recipe and found.recipe.node
    assert found.recipe.node.manager == "pnpm@9.15.9"
    assert [command.folder for command in found.recipe.node.commands] == ["packages/core"]


def test_yarn_and_mocha_where_one_file_cannot_be_loaded(dig: Dig) -> None:
    manifest = package(scripts={"test": "mocha --bail --reporter dot test/*.js"}, devDependencies={"mocha": "^10.8.2"})
    made = project(
        manifest,
        ASSERTING.format(
            imports="const assert = require('assert')\nconst core = require('../src/core.js')\nconst { boil, none } = core"
        ),
        "const { warm } = require('../src/extra.js')\nit('warms', () => { warm() })\n",
        ending="js",
        declare="exports.",
        yarn_DOT_lock="# yarn lockfile v1\n",
    )
    found = dig(_common(made))
    holds(found, Expected("test/core.test.js", "test/new.test.js"))
    assert found.recipe and found.recipe.node and found.recipe.node.manager == "yarn@1.22.22"
    assert [row.resolved for row in hurdles(found)] == [True], "the empty lock stands for nothing"


def test_node_alone_without_any_dependency(dig: Dig) -> None:
    made = project(
        package(scripts={"test": "node --test"}),
        ASSERTING.format(
            imports="const assert = require('assert')\nconst { beforeEach, describe, it } = require('node:test')\n"
            "const core = require('../src/core.js')\nconst { boil, none } = core"
        ),
        "const { test } = require('node:test')\nconst { warm } = require('../src/extra.js')\n"
        "test('warms', () => { warm() })\n",
        ending="js",
        declare="exports.",
    )
    holds(dig(_common(made)), Expected("test/core.test.js", "test/new.test.js"))


@pytest.mark.parametrize("release", [6, 8])
def test_a_newer_yarn_leaves_folders_of_packages(dig: Dig, release: int) -> None:
    made = project(
        package(scripts={"test": "node --test"}, dependencies={"ms": "2.1.3"}),
        ASSERTING.format(
            imports="const assert = require('assert')\nconst { beforeEach, describe, it } = require('node:test')\nrequire('ms')\n"
            "const core = require('../src/core.js')\nconst { boil, none } = core"
        ),
        "const { test } = require('node:test')\nconst { warm } = require('../src/extra.js')\n"
        "test('warms', () => { warm() })\n",
        ending="js",
        declare="exports.",
    )
    lock = f"__metadata:\n  version: {release}\n"
    settings = "nodeLinker: pnp\nyarnPath: .yarn/releases/yarn-9.cjs\nplugins:\n  - path: evil.cjs\n"
    made = Project({**made.start, "yarn.lock": lock, ".yarnrc.yml": settings}, made.change)
    found = dig(_common(made))
    holds(found, Expected("test/core.test.js", "test/new.test.js"))
    assert found.recipe and found.recipe.node and found.recipe.node.links == ("node_modules",)


def test_npm_and_ava(dig: Dig) -> None:
    made = project(
        package(scripts={"test": "ava"}, devDependencies={"ava": "^6.4.1"}, ava={"files": ["test/**"]}),
        AVA,
        "import test from 'ava'\nimport { warm } from '../src/extra.mjs'\ntest('warms', t => { t.is(warm(), 1) })\n",
        ending="mjs",
    )
    holds(dig(made), Expected("test/core.test.mjs", "test/new.test.mjs"), setup=None)


def test_bun_and_its_own_tests(dig: Dig) -> None:
    made = project(
        package(type="module", packageManager="bun@1.3.5", scripts={"test": "bun test"}, dependencies={"ms": "2.1.3"}),
        JEST_LIKE.format(
            imports="import { beforeEach, describe, expect, it } from 'bun:test'\nimport * as core from '../src/core'\n"
            "const { boil, none } = core as any"
        ).replace("core.cool", "(core as any).cool"),
        "import { expect, test } from 'bun:test'\nimport { warm } from '../src/extra'\n"
        "test('warms', () => { expect(warm()).toBe(1) })\n",
        ending="ts",
    )
    holds(dig(made), Expected("test/core.test.ts", "test/new.test.ts"), is_telling=False)


def _common(made: Project) -> Project:
    """CommonJS: `exports. boil` is no declaration."""

    def plain(files: dict[str, str | None]) -> dict[str, str | None]:
        return {path: text.replace("exports. ", "exports.") if text else text for path, text in files.items()}

    return Project(plain(dict(made.start)), plain(dict(made.change)))
