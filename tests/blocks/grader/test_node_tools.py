"""Starting JavaScript test tools, and reading bun's JUnit: what the subject left there is hostile."""

import json
import os
from pathlib import Path

import pytest

from blocks.grader.account import Account, GraderError
from blocks.grader.junit import read_junit
from blocks.grader.node_runner import link_dependencies, read_bun
from blocks.grader.node_tools import NodeSuite, command, read_suite
from blocks.grader.subject import Finished

REPORTERS = Path("/run/runner")


def install(folder: Path, tool: str, bins: object, script: str = "bin/cli.js") -> None:
    package = folder / "node_modules" / tool
    (package / script).parent.mkdir(parents=True)
    (package / script).write_text("")
    (package / "package.json").write_text(json.dumps({"bin": bins}))


def argv(suite: NodeSuite, workspace: Path) -> list[str]:
    return command(suite, workspace, REPORTERS)[0]


def test_a_tool_is_started_by_its_own_entry_from_the_nearest_installation(tmp_path: Path) -> None:
    install(tmp_path, "vitest", {"vitest": "bin/cli.js"})
    install(tmp_path / "packages" / "a", "vitest", "other.mjs", "other.mjs")
    suite = NodeSuite("vitest", arguments=("--config", "x.ts"), node_arguments=("--expose-gc",))
    found = argv(suite, tmp_path)
    assert found[:4] == ["/usr/local/bin/node", "--expose-gc", str(tmp_path / "node_modules/vitest/bin/cli.js"), "run"]
    assert found[4:6] == ["--config", "x.ts"] and "--reporter=/run/runner/vitest.cjs" in found
    assert argv(NodeSuite("vitest", folder="packages/a"), tmp_path)[1].endswith(
        "packages/a/node_modules/vitest/other.mjs"
    )
    assert argv(NodeSuite("vitest", folder="packages/b"), tmp_path)[1].endswith("/node_modules/vitest/bin/cli.js")


@pytest.mark.parametrize("bins", [{"other": "bin/cli.js"}, "missing.js", 3, None])
def test_a_tool_that_is_not_there_is_told(tmp_path: Path, bins: object) -> None:
    install(tmp_path, "jest", bins)
    with pytest.raises(GraderError, match="jest is not among the dependencies"):
        argv(NodeSuite("jest"), tmp_path)


def test_patterns_of_nodes_own_runner_are_expanded_outside_of_dependencies(tmp_path: Path) -> None:
    for path in ("test/a.test.js", "test/b/c.spec.js", "test/node_modules/x/d.test.js", "test/e.js"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    found = argv(NodeSuite("node", arguments=("test/**/*.{test,spec}.js", "none/*.js", "test/e.js")), tmp_path)
    files = [str(tmp_path / path) for path in ("test/a.test.js", "test/b/c.spec.js")]
    assert sorted(found[-4:-2]) == files and found[-2:] == ["none/*.js", "test/e.js"]


@pytest.mark.parametrize("value", [3, {}, {"tool": "sh"}, {"tool": "tape"}])
def test_what_is_no_suite_is_refused(value: object) -> None:
    with pytest.raises(GraderError, match="a suite is none of"):
        read_suite(value)


def test_links_are_made_only_where_nothing_is_in_the_way(tmp_path: Path) -> None:
    own = Account(os.getuid(), os.getgid(), "x", switch=False)
    (tmp_path / "a" / "node_modules").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "b")
    (tmp_path / "node_modules").symlink_to("/nowhere")
    links = ["node_modules", "a/node_modules", "b/node_modules", "c/node_modules", "absent/node_modules"]
    link_dependencies(tmp_path, links, own)
    assert (tmp_path / "b" / "node_modules").readlink() == Path("/deps/b/node_modules")
    assert (tmp_path / "node_modules").readlink() == Path("/nowhere")
    assert not (tmp_path / "a" / "node_modules").is_symlink() and not (tmp_path / "absent").exists()
    with pytest.raises(GraderError, match="not a plain relative path"):
        link_dependencies(tmp_path, ["../node_modules"], own)


BUN = b"""<testsuites><testsuite name="a.test.ts" file="a.test.ts">
<testsuite name="boil" file="a.test.ts">
 <testcase name="a" file="a.test.ts" assertions="1" time="0.5"><failure type="AssertionError" /></testcase>
 <testcase name="b" file="a.test.ts" assertions="0"><failure type="AssertionError" /></testcase>
 <testcase name="s" file="a.test.ts"><skipped /></testcase>
</testsuite>
<testcase name="t" file="a.test.ts" time="x"><failure type="TimeoutError" /></testcase>
<testcase name="twice" file="a.test.ts" assertions="1" /><testcase name="twice" file="a.test.ts"><skipped /></testcase>
</testsuite></testsuites>"""


def test_what_bun_says() -> None:
    found = read_junit(BUN, "p/")
    assert found is not None
    told = {test_id: (outcome.status, outcome.failure_kind) for test_id, outcome in found.items()}
    assert told == {
        "p/a.test.ts::boil > a": ("failed", "assertion"),
        "p/a.test.ts::boil > b": ("failed", "error"),
        "p/a.test.ts::boil > s": ("skipped", None),
        "p/a.test.ts::t": ("failed", "timeout"),
        "p/a.test.ts::twice": ("skipped", None),
    }
    assert found["p/a.test.ts::boil > a"].seconds == 0.5


@pytest.mark.parametrize("data", [b"", b"<a>", BUN[:-5], b"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", b"\xff\xfe"])
def test_what_is_no_junit_is_no_report(data: bytes) -> None:
    assert read_junit(data) is None


END = b'n0 {"event":"end","exit_code":0}\n'


def bun(report: bytes, code: int | None = 1) -> tuple[bool, int]:
    told = read_bun(Finished(code, False, report, "", False, True, 1.0), "n0", ".")
    return told.ended, len(told.results)


def test_bun_says_with_the_nonce_that_it_came_to_its_end() -> None:
    assert bun(END + BUN) == (True, 5)
    assert bun(BUN) == (False, 5), "process.exit() after a forged report"
    assert bun(END.replace(b"n0", b"n1") + BUN) == (False, 0), "somebody else's nonce"
    assert bun(END + BUN + BUN) == (False, 0), "a forged report before the real one"
    assert bun(END + END + BUN) == (False, 5)
    assert bun(END + BUN, None) == bun(END + BUN, 99) == (False, 5)
    assert bun(END) == bun(b"") == (False, 0)
