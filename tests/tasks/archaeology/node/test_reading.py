"""What is read from a JavaScript tree: ranges, scripts, managers, versions, suites. Nothing runs."""

import json
from datetime import UTC, datetime

import pytest

from blocks.recipe import NodeCommand, NodeSuite
from blocks.trees import File
from tasks.archaeology.node.managers import choose_manager
from tasks.archaeology.node.manifests import read_manifests
from tasks.archaeology.node.ranges import satisfies
from tasks.archaeology.node.scripts import Started, read_script
from tasks.archaeology.node.sources import gather_sources
from tasks.archaeology.node.stack import NodePlanned, NodeStack
from tasks.archaeology.node.suites import plan_testing
from tasks.archaeology.node.versions import choose_node
from tasks.archaeology.remedies import Action, Evidence, Fix, find_fixes, read_remedies
from tasks.archaeology.stack import Facts
from tests.trees import tree

IN_2023 = datetime(2023, 1, 1, tzinfo=UTC)
IN_2026 = datetime(2026, 11, 1, tzinfo=UTC)


def manifest(**values: object) -> str:
    return json.dumps({"name": "kettle", "version": "1.0.0", **values})


@pytest.mark.parametrize(
    ("text", "version", "expected"),
    [
        (">=18", "18.20.8", True),
        (">= 0.10", "22.1.0", True),
        ("^18.18.0 || ^20.9.0 || >=21.1.0", "20.8.9", False),
        ("^18.18.0 || ^20.9.0 || >=21.1.0", "22.0.0", True),
        ("18.x", "18.2.0", True),
        ("18", "19.0.0", False),
        ("~16.3", "16.4.0", False),
        (">=14 <17", "16.20.2", True),
        ("14 - 16", "16.20.2", True),
        ("14 - 16", "17.0.0", False),
        ("^0.2.3", "0.2.9", True),
        ("^0.2.3", "0.3.0", False),
        (">16", "16.20.2", False),
        ("<=16", "16.20.2", True),
        ("*", "24.0.0", True),
        ("", "24.0.0", True),
        ("lts/*", "24.0.0", None),
    ],
)
def test_ranges_mean_what_npm_means(text: str, version: str, expected: bool | None) -> None:
    assert satisfies(text, version) is expected


VITEST, JEST = Started("vitest"), Started("jest")


@pytest.mark.parametrize(
    ("scripts", "started", "builds"),
    [
        ({"test": "vitest"}, [VITEST], ()),
        ({"test": "npm run lint && npm run test:unit -- --coverage", "test:unit": "vitest run", "lint": "jest"}, [VITEST], ()),
        ({"test": "NODE_ENV=test cross-env TZ=UTC jest --ci --coverage -c a.js --reporters default lib"},
         [Started("jest", ("-c", "a.js", "lib"), (), (("NODE_ENV", "test"), ("TZ", "UTC")))], ()),
        ({"test": "xo && npm run build && ava --verbose", "build": "tsc"}, [Started("ava")], ("build",)),
        ({"pretest": "yarn compile", "compile": "tsc -b", "test": "nyc --reporter text mocha -R spec --exit 'test/**/*.js'"},
         [Started("mocha", ("test/**/*.js",))], ("compile",)),
        ({"test": "node --experimental-vm-modules node_modules/jest/bin/jest.js --watch=false"},
         [Started("jest", (), ("--experimental-vm-modules",))], ()),
        ({"test": "c8 -r text node --test --test-reporter spec test/*.js"}, [Started("node", ("test/*.js",))], ()),
        ({"test": "tsx --test src/a.test.ts"}, [Started("node", ("src/a.test.ts",), ("--import", "tsx"))], ()),
        ({"test": "run-s test:*", "test:lint": "eslint .", "test:spec": "vitest run"}, [VITEST], ()),
        ({"test": "pnpm run '/^test:.*/'", "test:types": "tsc", "test:spec": "vitest run"}, [VITEST], ()),
        ({"test": "vitest run && yarn build && vitest run -c dist.ts", "build": "tsup"}, [VITEST], ()),
        ({"test": "concurrently 'npm:x' 'jest --watchAll'"}, [JEST], ()),
        ({"test": "bun test --bail src"}, [Started("bun", ("src",))], ()),
        ({"test": "npm test"}, [], ()),
        ({"test": "echo 'unclosed"}, [], ()),
        ({"test": "tape test.js"}, [], ()),
    ],
)  # fmt: skip
def test_scripts_are_followed_to_the_tools(
    scripts: dict[str, str], started: list[Started], builds: tuple[str, ...]
) -> None:
    found = read_script(scripts, "test")
    assert (list(found.started), found.builds) == (started, builds)


@pytest.mark.parametrize(
    "text", ["turbo run test", "pnpm -r test", "yarn workspaces run test", "npm test --workspaces"]
)
def test_scripts_that_go_into_packages_say_so(text: str) -> None:
    assert read_script({"test": text}, "test").goes_into_packages


@pytest.mark.parametrize(
    ("files", "label"),
    [
        ({}, "npm"),
        ({"package-lock.json": "{}"}, "npm"),
        ({"yarn.lock": "# yarn lockfile v1\n"}, "yarn@1.22.22"),
        ({"yarn.lock": "__metadata:\n  version: 6\n"}, "berry@3.8.7"),
        ({"yarn.lock": "__metadata:\n  version: 8\n"}, "berry@4.9.2"),
        ({"pnpm-lock.yaml": "lockfileVersion: '9.0'\n"}, "pnpm@9.15.9"),
        ({"pnpm-lock.yaml": "lockfileVersion: 5.4\n"}, "pnpm@7.33.7"),
        ({"pnpm-lock.yaml": "lockfileVersion: '6.0'\n", "package-lock.json": "{}"}, "pnpm@8.15.9"),
        ({"pnpm-lock.yaml": "", "package.json": manifest(packageManager="pnpm@9.0.0+sha512.abc")}, "pnpm@9.0.0"),
        ({"bun.lock": "{}"}, "bun@1.3.5"),
        ({"bun.lock": "{}", "package.json": manifest(packageManager="bun@1.2.20")}, "bun@1.2.20"),
        ({"package-lock.json": "{}", "package.json": manifest(packageManager="pnpm@9.0.0")}, "npm"),
        (
            {"yarn.lock": "__metadata:\n  version: 8\n", "package.json": manifest(packageManager="yarn@4.1.0")},
            "berry@4.1.0",
        ),
    ],
)
def test_the_manager_is_the_repositorys(files: dict[str, str], label: str) -> None:
    found = tree({"package.json": manifest(), **files})
    assert choose_manager(found, read_manifests(found)["."]).label == label


@pytest.mark.parametrize(
    ("files", "as_of", "version"),
    [
        ({}, IN_2023, "18"),
        ({}, IN_2026, "24"),
        ({"package.json": manifest(engines={"node": ">=20"})}, IN_2023, "20"),
        ({"package.json": manifest(engines={"node": "^14"})}, IN_2026, "14"),
        ({"package.json": manifest(engines={"node": "<=10"})}, IN_2026, None),
        ({".nvmrc": "v20.11.1\n"}, IN_2026, "20"),
        ({".nvmrc": "lts/iron\n"}, IN_2023, "18"),
        ({".node-version": "21"}, IN_2026, "22"),
        ({"package.json": manifest(volta={"node": "16.14.0"})}, IN_2026, "16"),
        ({".github/workflows/ci.yml": "matrix:\n  node-version: [16.x, 18.x, 20]\n"}, IN_2026, "20"),
        ({".github/workflows/ci.yml": "matrix:\n  node:\n    - '16'\n    - 18.1.0 # old\n  os: [x]\n"}, IN_2026, "18"),
        ({".github/workflows/ci.yml": "node-version: 24\n"}, IN_2023, "18"),
        ({".devcontainer.json": '{"image": "mcr/devcontainers/typescript-node:1-20-bookworm", }'}, IN_2026, "20"),
        (
            {
                ".devcontainer.json": '{"features": {"x/features/node:1": {"version": "16"}}}',
                ".github/workflows/ci.yml": "node-version: 22\n",
            },
            IN_2026,
            "22",
        ),
    ],
)
def test_the_runtime_is_what_the_tree_asks_for(files: dict[str, str], as_of: datetime, version: str | None) -> None:
    found = tree({"package.json": manifest(), **files})
    assert choose_node(found, read_manifests(found).values(), as_of) == version


def test_a_manager_can_ask_for_a_newer_runtime() -> None:
    found = tree({"package.json": manifest(packageManager="pnpm@11.3.0"), "pnpm-lock.yaml": ""})
    manifests = read_manifests(found)
    floor = choose_manager(found, manifests["."]).least_node
    assert choose_node(found, manifests.values(), IN_2023, floor=floor) == "22"


def test_what_goes_to_the_fetch_is_data_and_the_union_of_both_states() -> None:
    start = tree({"package.json": manifest(dependencies={"gone": "^1", "kept": "^1"})})
    solution = tree(
        {
            "package.json": manifest(
                dependencies={"kept": "^2", "fork": "github:o/n", "tool": "npm:other@1", "beside": "file:../x"},
                scripts={"postinstall": "node evil.js"},
                bin={"kettle": "./cli.js"},
            ),
            "package-lock.json": "{}",
            "cli.js": "real code",
            "evil.js": "real code",
            ".npmrc": "//host/:_authToken=secret\nlegacy-peer-deps=true\nregistry=https://elsewhere\n",
            "patches/kept.patch": "diff",
            ".pnpmfile.cjs": "real code",
            "sub/node_modules/x/package.json": "{}",
        }
    )
    manifests = read_manifests(solution)
    sources = gather_sources(start, solution, choose_manager(solution, manifests["."]), manifests)
    assert sorted(sources.tree) == [".npmrc", "cli.js", "package-lock.json", "package.json", "patches/kept.patch"]
    document = json.loads(sources.tree["package.json"].content)
    assert document["dependencies"] == {"kept": "^2", "tool": "npm:other@1", "gone": "^1"}
    assert "scripts" not in document
    assert sources.tree["cli.js"] == File(content=b"#!/usr/bin/env node\n", executable=True)
    assert sources.tree[".npmrc"].content == b"legacy-peer-deps=true\n"
    assert sources.left_out == ("fork@github:o/n", "beside@file:../x")
    assert not sources.is_frozen


def test_an_npm_lock_loses_what_is_left_out() -> None:
    address = "https://elsewhere.example/o/n/tarball/v1"
    lock = {
        "packages": {
            "": {"devDependencies": {"fork": address, "kept": "^1"}},
            "node_modules/fork": {"resolved": address},
            "node_modules/kept": {"version": "1.0.0"},
            "node_modules/deep": {"name": "real", "version": "2.0.0", "resolved": "git+ssh://git@github.com/o/n.git#1"},
        }
    }
    both = tree(
        {
            "package.json": manifest(devDependencies={"fork": address, "kept": "^1"}),
            "package-lock.json": json.dumps(lock),
        }
    )
    manifests = read_manifests(both)
    sources = gather_sources(both, both, choose_manager(both, manifests["."]), manifests)
    packages = json.loads(sources.tree["package-lock.json"].content)["packages"]
    assert packages == {"": {"devDependencies": {"kept": "^1"}}, "node_modules/kept": {"version": "1.0.0"}}
    assert json.loads(sources.tree["package.json"].content)["overrides"] == {"deep": "npm:real@2.0.0"}
    assert sources.left_out[0] == f"fork@{address}" and not sources.is_frozen


def test_equal_manifests_keep_the_lock_frozen() -> None:
    both = tree({"package.json": manifest(dependencies={"kept": "^1"}), "package-lock.json": "{}"})
    manifests = read_manifests(both)
    assert gather_sources(both, both, choose_manager(both, manifests["."]), manifests).is_frozen


WORKSPACES: dict[str, str | bytes] = {
    "package.json": manifest(workspaces=["packages/*"], scripts={"test": "turbo run test"}),
    "packages/core/package.json": json.dumps(
        {"name": "@k/core", "main": "dist/index.js", "scripts": {"build": "tsc"}, "dependencies": {"@k/base": "*"}}
    ),
    "packages/base/package.json": json.dumps({"name": "@k/base", "main": "dist/i.js", "scripts": {"build": "tsc"}}),
    "packages/plain/package.json": json.dumps({"name": "@k/plain", "main": "index.js", "scripts": {"build": "x"}}),
    "packages/plain/index.js": "",
    "packages/app/package.json": json.dumps(
        {"name": "app", "scripts": {"test": "vitest run"}, "dependencies": {"@k/core": "*", "@k/plain": "*"}}
    ),
    "packages/app/src/a.test.ts": "import { it } from 'vitest'",
}


def test_packages_that_a_package_needs_are_built_first() -> None:
    found = tree(WORKSPACES)
    testing = plan_testing(found, read_manifests(found), ["packages/app/src/a.test.ts"], "pnpm")
    assert testing.suites == (NodeSuite(tool="vitest", folder="packages/app"),)
    assert [command.folder for command in testing.commands] == ["packages/base", "packages/core"]


@pytest.mark.parametrize(
    ("source", "builds"),
    [
        ("import x from '../lib/built.js'", True),
        ("const x = require('../dist')", True),
        ("import x from '../src/a.js'", False),
        ("import x from '..'", False),
        ("import x from './data.json'", False),
    ],
)
def test_what_tests_import_and_is_not_there_is_built(source: str, builds: bool) -> None:
    found = tree(
        {
            "package.json": manifest(scripts={"test": "ava", "build": "tsc"}),
            "src/a.ts": "",
            "test/data.json": "{}",
            "test/a.test.js": source,
        }
    )
    testing = plan_testing(found, read_manifests(found), ["test/a.test.js"], "npm")
    assert testing.commands == ((NodeCommand(argv=("npm", "run", "build")),) if builds else ())


@pytest.mark.parametrize(
    ("files", "manager", "tool"),
    [
        ({"vitest.config.mts": ""}, "npm", "vitest"),
        ({"package.json": manifest(jest={})}, "npm", "jest"),
        ({"package.json": manifest(devDependencies={"mocha": "10"})}, "npm", "mocha"),
        ({"a.test.js": "import { test } from 'node:test'"}, "npm", "node"),
        ({"a.test.js": "import { test } from 'bun:test'"}, "bun", "bun"),
    ],
)
def test_without_a_telling_script_the_tool_is_told_by_what_is_there(
    files: dict[str, str], manager: str, tool: str
) -> None:
    found = tree({"package.json": manifest(), "a.test.js": "", **files})
    testing = plan_testing(found, read_manifests(found), ["a.test.js"], manager)
    assert [suite.tool for suite in testing.suites] == [tool]


def test_hostile_manifests_are_no_manifests() -> None:
    found = tree(
        {"package.json": "[" * 100_000, "a/package.json": "[]", "b/package.json": '{"scripts": 3, "name": []}'}
    )
    manifests = read_manifests(found)
    assert set(manifests) == {"b"}
    assert (manifests["b"].name, manifests["b"].scripts) == (None, {})


LOGS = [
    ("collect", 'Error: Failed to resolve entry for package "@k/core". The package may have', ("build", "@k/core")),
    ("collect", "Error: Cannot find module '../dist/index.js' from 'a.test.js'", ("build", ".")),
    ("collect", "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/app/lib/x.js' imported from", ("build", ".")),
    ("collect", "Error: Cannot find package 'left-pad' imported from /app/a.js", ("add_requirement", "left-pad")),
    ("collect", "ReferenceError: primordials is not defined", ("runtime", "older")),
    ("collect", "SyntaxError: Unexpected token '??='", ("runtime", "newer")),
    ("tests", "ReferenceError: structuredClone is not defined", ("runtime", "newer")),
    ("collect", "Error: error:0308010C:digital envelope routines::unsupported",
     ("set_environment", "NODE_OPTIONS=--openssl-legacy-provider")),
]  # fmt: skip


@pytest.mark.parametrize(("log", "said", "expected"), LOGS, ids=[said[:40] for _, said, _ in LOGS])
def test_words_of_real_tools_and_their_remedies(log: str, said: str, expected: tuple[str, str]) -> None:
    found = tree({**WORKSPACES, "package.json": manifest(scripts={"build": "tsc", "test": "turbo run test"})})
    start = {path: file for path, file in found.items() if "app" not in path}
    facts = Facts(IN_2023, None, ("packages/app/src/a.test.ts",))
    planned = NodeStack().plan(start, found, facts)
    assert isinstance(planned, NodePlanned)
    tried: set[tuple[str, str]] = set()
    evidence = Evidence.model_validate({log: said})
    effective = []
    while fixes := find_fixes(read_remedies(), evidence, stack="node", tried=tried):
        tried |= {fix.key for fix in fixes}
        effective += [fix.key for fix in fixes if planned.mend(fix) is not None or fix.argument == "@k/core"]
    assert effective == [expected]


def test_a_fix_changes_the_plan() -> None:
    found = tree({"package.json": manifest(scripts={"test": "jest", "build": "tsc"}), "a.test.js": ""})
    planned = NodeStack().plan(found, found, Facts(IN_2023, None, ("a.test.js",)))
    assert isinstance(planned, NodePlanned)

    def mended(action: Action, argument: str) -> NodePlanned | None:
        return planned.mend(Fix(action=action, argument=argument, symptom="", name=""))

    built, added, newer = (
        mended(Action.BUILD, "."),
        mended(Action.ADD_REQUIREMENT, "ms"),
        mended(Action.RUNTIME, "newer"),
    )
    assert built and built.recipe.node and built.recipe.node.commands == (NodeCommand(argv=("npm", "run", "build")),)
    assert added and json.loads(added.sources.tree["package.json"].content)["devDependencies"] == {"ms": "*"}
    assert newer and (planned.recipe.runtime, newer.recipe.runtime) == ("18", "20")
    for argument in ("fs", "kettle", "../x", "UPPER", "a b"):
        assert mended(Action.ADD_REQUIREMENT, argument) is None
    assert mended(Action.BUILD, "absent") is None and mended(Action.ADD_HEADER, "x.h") is None
