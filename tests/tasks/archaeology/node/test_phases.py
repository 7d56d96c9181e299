"""A JavaScript candidate all the way, and submissions that try to get its reward without the work."""

import json
from collections.abc import Iterator

import pytest

from blocks.engine import ContainerSpec, Engine, Role
from blocks.grader.spec import GraderSpec
from blocks.records import EnvironmentRow, Phase
from blocks.trees import File
from tests.tasks.archaeology.node.projects import FIX, JEST_LIKE, package, project
from tests.tasks.archaeology.node.test_reconstruct import _common
from tests.tasks.pipeline import Candidate
from tests.tasks.whole import Change, card, clean_up, publish_and_rebuild, submit, verify
from tests.trees import tree

pytestmark = [pytest.mark.engine, pytest.mark.slow]

MANIFEST = package(scripts={"test": "jest --coverage"}, devDependencies={"jest": "^29.7.0"})
RIGHT = tree(
    {"src/core.js": FIX.format("exports.").replace("exports. ", "exports."), "src/extra.js": "exports.warm = () => 1\n"}
)
BUG = "exports.boil = litres => litres * 100\nexports.none = () => undefined\nexports.cool = litres => litres - 1\n"
EVERYTHING_PASSES = """\
module.exports = async (config, project, environment, runtime, testPath) => ({
  testFilePath: testPath, numPassingTests: 1, numFailingTests: 0, numPendingTests: 0, numTodoTests: 0, skipped: false,
  openHandles: [], leaks: false, perfStats: { start: 0, end: 1, runtime: 1, slow: false }, snapshot: {},
  testResults: ['boil > nothing', 'boil > a litre', 'boil > cools', 'warms'].map(title => ({
    ancestorTitles: [], title, fullName: title, status: 'passed', failureMessages: [], failureDetails: [], duration: 1,
    numPassingAsserts: 1, invocations: 1 })) })
"""
READS_ITS_ORDERS = """\
const fs = require('fs')
const room = Buffer.alloc(4096)
for (const where of [() => 0, () => fs.openSync('/proc/self/fd/0', 'r'), () => fs.openSync(`/proc/${process.ppid}/fd/0`, 'r')]) {
  try {
    const { nonce } = JSON.parse(room.subarray(0, fs.readSync(where(), room, 0, 4096, 0)))
    const channel = /GRADER_CHANNEL=([^\\0]+)/.exec(fs.readFileSync('/proc/self/environ'))[1]
    const told = records => fs.appendFileSync(channel, records.map(one => `${nonce} ${JSON.stringify(one)}\\n`).join(''))
    told([{ event: 'end', exit_code: 0 }])
    process.exit(0)
  } catch (error) {
    require('fs').writeSync(2, String(error))
  }
}
"""


@pytest.fixture(scope="module")
def kettle(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Candidate]:
    made = project(
        MANIFEST,
        JEST_LIKE.format(imports="const core = require('../src/core.js')\nconst { boil, none } = core"),
        "const { warm } = require('../src/extra.js')\ntest('warms', () => { expect(warm()).toBe(1) })\n",
        ending="js",
        declare="exports.",
    )
    candidate = Candidate(tmp_path_factory.mktemp("kettle"), _common(made))
    try:
        yield verify(candidate)
    finally:
        clean_up(candidate)


def test_the_card_and_the_spec(kettle: Candidate) -> None:
    row = card(kettle)
    assert (row.fail_to_pass, row.pass_to_pass, row.pass_to_fail) == (3, 1, 1)
    assert (row.status, row.tier, row.grade, row.nop_reward, row.oracle_reward) == ("admitted", "train", "B", 0, 1)
    assert (row.hunks_required, row.hunks_detected) == (2, 2)
    tests = kettle.chain.tree(Phase.SYNTHESIS, "tests.tar")
    spec = GraderSpec.from_json(tests["spec.json"].content.decode())
    assert spec.sentinel_files == ("test/core.test.js", "test/new.test.js"), "jest takes tests that must fail"
    assert set(spec.base) == {"package.json"}
    assert not any(b"334.4" in file.content for file in tests.values()), "the solution is not among the tests"


def test_tools_can_write_their_caches_and_nothing_else(engine: Engine, kettle: Candidate) -> None:
    """Vite writes what it reads of its configuration to `.vite-temp`; sealing closes all other folders."""
    image = kettle.chain.row(Phase.CONTAINERIZE, EnvironmentRow).image
    with engine.container(ContainerSpec(image=image, role=Role.SUBJECT, user="agent", deadline_sec=60)) as box:
        writes = "for one in .vite-temp .cache jest .; do touch /app/node_modules/$one/x 2>/dev/null && echo $one; done; true"
        assert box.run(["sh", "-c", writes], timeout_sec=30).output.split() == [".vite-temp", ".cache"]


def with_manifest(**fields: object) -> File:
    return File(content=json.dumps({**json.loads(MANIFEST), **fields}).encode())


RUNNER = {"evil.js": File(content=EVERYTHING_PASSES.encode())}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"package.json": with_manifest(jest={"testRunner": "<rootDir>/evil.js"}), **RUNNER}, "test_failed"),
        ({"package.json": with_manifest(scripts={"test": "true"}), **RUNNER}, "test_failed"),
        ({**tree({"jest.config.js": "module.exports = { testRunner: './evil.js' }"}), **RUNNER}, "test_failed"),
        (
            tree(
                {
                    "node_modules/jest/package.json": '{"bin": "jest.js"}',
                    "node_modules/jest/jest.js": "process.exit(0)",
                    "src/core.js": BUG,
                }
            ),
            "test_failed",
        ),
        (tree({"src/core.js": BUG, "test/core.test.js": "test('boil > a litre', () => {})"}), "test_failed"),
        (tree({"src/core.js": "process.exit(0)"}), "report_incomplete"),
        (tree({"src/core.js": READS_ITS_ORDERS + BUG}), "test_failed"),
        (tree({"src/core.js": BUG, "src/extra.js": "throw new Error('no')"}), "test_absent"),
        (
            tree({"src/core.js": "const all = it\nit = test = (name, f) => all(name, () => {})\n" + BUG}),
            "sentinel_silent",
        ),
        (
            tree({"src/core.js": "expect.extend({ toBe: () => ({ pass: true, message: () => '' }) })\n" + BUG}),
            "sentinel_silent",
        ),
    ],
    ids=[
        "a test runner of its own, in package.json",
        "a script of its own",
        "a test runner of its own, in its configuration",
        "a jest of its own",
        "forges the hidden test",
        "ends the run",
        "looks for the nonce, to end the run with it",
        "a hidden test cannot be loaded",
        "bends the test functions",
        "bends the comparison",
    ],
)
def test_submissions_that_get_nothing(kettle: Candidate, change: Change, reason: str) -> None:
    verdict = submit(kettle, change)
    assert verdict.reward == 0
    assert not reason or reason in verdict.reasons, verdict


@pytest.mark.parametrize(
    "change",
    [
        RIGHT,
        {**RIGHT, "package.json": None, "test/core.test.js": None},
        {**RIGHT, "package.json": with_manifest(dependencies={"ms": "2"}, jest={"testMatch": []})},
        {**RIGHT, **tree({"node_modules/.cache/x": "", "node_modules/jest/package.json": "{}"})},
        {**RIGHT, **tree({"jest.config.js": "throw 1", "test/mine.test.js": "test('mine', () => { throw 1 })"})},
    ],
    ids=[
        "right",
        "right, manifest and tests deleted",
        "right, manifest changed",
        "right, with packages of its own",
        "right, with configuration of its own",
    ],
)
def test_right_submissions(kettle: Candidate, change: Change) -> None:
    verdict = submit(kettle, change)
    assert (verdict.reward, verdict.reasons) == (1, ())


def test_all_the_way(kettle: Candidate) -> None:
    publish_and_rebuild(kettle)
