"""Verifiers of JavaScript and C: what is laid, what is open, what calibration finds out; by a scripted grader."""

import json
from collections.abc import Callable
from dataclasses import replace

from blocks.builder.grading import Verdict
from blocks.grader.spec import GraderSpec
from blocks.recipe import NativeBuild, NodeBuild, NodeSuite, Recipe
from blocks.trees import File, Tree
from blocks.vectors import StateComparison, TestResult, TestStatus, TestVector
from tasks.synthesis.calibrate import calibrate, configuration_said, sentinels_said
from tasks.synthesis.ingredients import Ingredients
from tasks.synthesis.runner_suite import manifests_of
from tasks.synthesis.suite import Suite, build_suite
from tasks.synthesis.watch import unwatched
from tests.trees import tree

PACKAGE = {"name": "kettle", "scripts": {"test": "vitest"}, "main": "dist/a.js"}
NODE_START = {
    **tree(
        {
            "package.json": json.dumps(PACKAGE),
            "packages/a/package.json": "{}",
            "vitest.config.ts": "import { plugin } from './tools/plugin'\nexport default { setupFiles: ['./load.ts'] }",
            "tools/plugin.ts": "x",
            "load.ts": "y",
            "src/index.ts": "bug",
            "test/a.test.ts": "old",
            "test/help.ts": "help",
        }
    ),
    **tree({"dist/a.js": "built", "dist/test/a.test.js": "built", "a.tsbuildinfo": "{}"}),
}
MADE = {"dist/a.js", "dist/test/a.test.js", "a.tsbuildinfo"}
NODE = Ingredients(
    start=NODE_START,
    change=tree({"src/index.ts": "fix"}),
    source_paths=("src/index.ts",),
    hidden=tree({"test/a.test.ts": "new", "test/b.test.ts": "more", "test/__snapshots__/a.snap": "s"}),
    removed_tests=(),
    test_paths=("test/a.test.ts", "test/help.ts"),
    open_paths=(),
    recipe=Recipe(
        stack="node",
        runtime="22",
        as_of="x",
        runner="node",
        node=NodeBuild(manager="npm", suites=(NodeSuite(tool="vitest"),)),
    ),
    timeout_sec=60,
    pristine=frozenset(NODE_START) - MADE,
)
WANTED = StateComparison(
    fail_to_pass=("test/a.test.ts::x", "test/b.test.ts::y"), pass_to_pass=("test/a.test.ts::z",), pass_to_fail=()
)
C = Ingredients(
    start=tree(
        {"CMakeLists.txt": "v1", "src/a.c": "bug", "tests/test_a.c": "int main(void) { return 1; }", "string.h": "own"}
    ),
    change=tree({"src/a.c": "fix", "CMakeLists.txt": "v2", "string.h": "own, mended"}),
    source_paths=("src/a.c",),
    hidden=tree(
        {"tests/test_b.c": "int main(void) { return 0; }", "tests/test_g.cc": "TEST(A, B) {}", "tests/data": "1"}
    ),
    removed_tests=("tests/gone.c",),
    test_paths=("tests/test_a.c",),
    open_paths=(),
    recipe=Recipe(stack="cpp", runtime="bookworm", as_of="x", runner="native", build=NativeBuild(system="cmake")),
    timeout_sec=60,
)
C_WANTED = StateComparison(fail_to_pass=("test_b",), pass_to_pass=("test_a", "g::A.B"), pass_to_fail=())


def spec_in(suite: Suite) -> GraderSpec:
    return GraderSpec.from_json(suite.tests["spec.json"].content.decode())


def test_what_a_javascript_verifier_lays() -> None:
    suite = build_suite(NODE, WANTED)
    spec = spec_in(suite)
    assert spec == suite.spec and spec.runner == "node" and spec.build["manager"] == "npm"
    assert set(spec.base) == {
        "package.json",
        "packages/a/package.json",
        "vitest.config.ts",
        "tools/plugin.ts",
        "load.ts",
        "test/help.ts",
    }, "what the configuration loads too; nothing that a build made, nothing of the product"
    assert spec.sentinel_files == ("test/a.test.ts", "test/b.test.ts")
    assert spec.test_files == ("test/a.test.ts", "test/b.test.ts")
    assert (spec.inverted_files, spec.must_fail, spec.open_fields, spec.open_paths) == ((), (), (), ())
    assert {path for path in suite.tests if path.startswith("grader/inside_node/")} >= {"grader/inside_node/bun.cjs"}


def test_only_what_no_submission_may_change_makes_package_json_a_manifest() -> None:
    def changed(**fields: object) -> Ingredients:
        return replace(NODE, change={**NODE.change, **tree({"package.json": json.dumps({**PACKAGE, **fields})})})

    free = changed(version="2", dependencies={"ms": "2"}, main="b.js")
    assert manifests_of(free) == {} and build_suite(free, WANTED).spec.open_fields == ("main",)
    held = changed(scripts={"test": "vitest --pool forks"})
    assert set(manifests_of(held)) == {"package.json"} and build_suite(held, WANTED).spec.open_fields == ()
    laid = build_suite(replace(held, manifests=manifests_of(held)), WANTED)
    assert b"forks" in laid.tests["base/package.json"].content


def test_what_a_native_verifier_lays() -> None:
    spec = spec_in(build_suite(C, C_WANTED))
    assert set(spec.base) == {"CMakeLists.txt", "tests/test_a.c"}
    assert "/tests/gone.c" in spec.protected_patterns
    assert spec.open_paths == ("/string.h",), "named like a header of the system, and the outcome's own"
    assert spec.sentinel_files == ("tests/test_g.cc",)
    assert spec.inverted_files == ("tests/test_a.c", "tests/test_b.c")
    assert spec.must_fail == (*C_WANTED.fail_to_pass, *C_WANTED.pass_to_pass), "until it is known which"


Passes = Callable[[Suite], set[str]]


class Grader:
    """What the solution gives, by a rule."""

    def __init__(self, passes: Passes, silent: tuple[str, ...] = (), failed: tuple[str, ...] = ()) -> None:
        self.passes, self.silent, self.failed = passes, silent, failed
        self.specs: list[GraderSpec] = []

    def __call__(self, suite: Suite, workspace: Tree) -> Verdict:
        assert workspace["src/a.c" if "src/a.c" in workspace else "src/index.ts"].content == b"fix"
        self.specs.append(suite.spec)
        passed = self.passes(suite)
        results = {test: TestResult(status=TestStatus.PASSED) for test in passed}
        told = {test: "failed" if test in self.failed else "passed" for test in suite.spec.must_fail}
        return Verdict(0.0, TestVector(results=results, complete=True), (), 1.0, "", told, self.silent)


def test_calibration_leaves_out_what_does_not_show() -> None:
    grader = Grader(lambda suite: set(suite.spec.whitelist), silent=("test/b.test.ts",))
    found = calibrate(NODE, WANTED, grader)
    suite = build_suite(found, WANTED)
    assert len(grader.specs) == 1
    assert suite.spec.sentinel_files == ("test/a.test.ts",)
    assert sentinels_said(suite) == ", 1 of 2 test files with tests that must fail"


def test_calibration_keeps_the_starts_configuration_where_that_will_do() -> None:
    grader = Grader(lambda suite: set(suite.spec.whitelist), failed=("test_a", "test_b"))
    found = calibrate(C, C_WANTED, grader)
    spec = build_suite(found, C_WANTED).spec
    assert len(grader.specs) == 1 and found.manifests == {}
    assert spec.must_fail == ("test_b", "test_a")
    assert build_suite(found, C_WANTED).tests["base/CMakeLists.txt"].content == b"v1"


def test_calibration_takes_the_outcomes_configuration_where_its_tests_need_it() -> None:
    def passes(suite: Suite) -> set[str]:
        needs = suite.tests["base/CMakeLists.txt"].content == b"v2"
        return set(suite.spec.whitelist) if needs else {"test_a"}

    found = calibrate(C, C_WANTED, Grader(passes, failed=("test_b",)))
    assert found.manifests == {"CMakeLists.txt": File(content=b"v2")}
    assert configuration_said(found) == ", with the outcome's CMakeLists.txt, which its tests need"
    assert configuration_said(C) == ""
    assert build_suite(found, C_WANTED).spec.must_fail == ("test_b",)


def test_calibration_asks_again_without_what_never_passes() -> None:
    grader = Grader(lambda suite: set(suite.spec.whitelist) - {"g::A.B"}, failed=("test_b",))
    found = calibrate(replace(C, change=tree({"src/a.c": "fix"})), C_WANTED, grader)
    assert [len(spec.whitelist) for spec in grader.specs] == [3, 2]
    assert found.must_fail == frozenset({"test_b"})


def test_what_nothing_watches_over_is_told() -> None:
    """Plain programs whose `main` is nowhere among the tests, and a tool that takes no tests of ours."""
    nowhere = replace(
        C, start=tree({"CMakeLists.txt": "v1", "src/a.c": "bug"}), hidden=tree({"tests/data": "1"}), test_paths=()
    )
    found = calibrate(nowhere, C_WANTED, Grader(lambda suite: set(suite.spec.whitelist)))
    assert unwatched(build_suite(found, C_WANTED)) == C_WANTED.fail_to_pass
    silent = calibrate(NODE, WANTED, Grader(lambda suite: set(suite.spec.whitelist), silent=tuple(NODE.hidden)))
    assert unwatched(build_suite(silent, WANTED)) == WANTED.fail_to_pass
    assert unwatched(build_suite(NODE, WANTED)) == unwatched(build_suite(C, C_WANTED)) == ()


def test_each_test_is_watched_over_by_its_own() -> None:
    """That one file has tests that must fail says nothing of the next."""
    whole = Grader(lambda suite: set(suite.spec.whitelist), silent=("test/b.test.ts",), failed=("test_a",))
    assert unwatched(build_suite(calibrate(NODE, WANTED, whole), WANTED)) == ("test/b.test.ts::y",)
    made = WANTED.model_copy(update={"fail_to_pass": ("dist/test/a.test.js::x", "dist/test/b.test.js::y")})
    assert unwatched(build_suite(replace(NODE, silent=frozenset({"test/b.test.ts"})), made)) == (
        "dist/test/b.test.js::y",
    )

    wanted = C_WANTED.model_copy(
        update={
            "fail_to_pass": ("test_a", "test_b", "script.sh", "g::A.B", "all/A.B/0", "A", "g::A.C", "q::no flow/deep")
        }
    )
    assert unwatched(build_suite(calibrate(C, wanted, whole), wanted)) == (
        *("test_b", "script.sh", "A", "g::A.C", "q::no flow/deep"),
    )
    catch = replace(C, hidden={**C.hidden, **tree({"tests/q.cpp": 'TEST_CASE_METHOD(Flow, "no flow", "[x]") {}'})})
    assert "q::no flow/deep" not in unwatched(build_suite(calibrate(catch, wanted, whole), wanted))


def test_pytest_needs_no_calibration() -> None:
    plain = replace(NODE, recipe=Recipe(stack="python", runtime="3.11", as_of="x"))
    assert calibrate(plain, WANTED, Grader(lambda suite: set())) is plain
    assert sentinels_said(build_suite(plain, WANTED)) == ""
