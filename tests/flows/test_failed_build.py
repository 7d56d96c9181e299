"""A build that fails is a Failed run with everything a person needs; a rejection is a Completed one; both in one batch."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from blocks.engine import Engine
from blocks.lake.file import FileStore
from blocks.records import ObstacleRow, Phase
from flows.failure_page import rows
from flows.logs import serving_logs
from tests.flows.api import Api, prefect
from tests.flows.browser import browsing, picture
from tests.flows.command import ROOT, Command, Done, containers_of
from tests.flows.test_bad_input import hand_in, write_config
from tests.history import MIT, History

pytestmark = [pytest.mark.engine, pytest.mark.prefect, pytest.mark.slow]

BOILER = '''"""Heating water."""


def whistle(pressure):
    """Whether the whistle sounds."""
    return pressure > 1
'''
FIXED = BOILER.replace(
    "    return pressure > 1\n", "    if pressure is None:\n        return False\n    return pressure >= 1\n"
)
TEST = "from kettle.boiler import whistle\n\n\ndef test_whistle():\n    assert whistle(2)\n"
BLIND = "\n\ndef test_whistle_at_the_limit():\n    assert whistle(3)\n"
"""A test that does not see the bug."""
MESSAGE = "Fix whistle at the limit: pressure 1 sounds\n\nIt stayed silent at exactly 1 bar, and broke on None."


def kettle(folder: Path, requirement: str, start_of_package: str) -> str:
    """A history in which the fix lands with a test; returns the start commit."""
    history = History(folder)
    project = f'[project]\nname = "kettle"\nversion = "1.0"\nlicense = "MIT"\ndependencies = [{requirement}]\n'
    setup = '[build-system]\nrequires = ["setuptools>=61"]\nbuild-backend = "setuptools.build_meta"\n'
    files = {
        "LICENSE": MIT,
        "pyproject.toml": setup + project,
        "kettle/__init__.py": start_of_package,
        "kettle/boiler.py": BOILER,
    }
    start = history.commit({**files, "tests/test_boiler.py": TEST}, "Boil water", day=0)
    history.commit({"README.md": "# kettle\n"}, "Say what it is", day=1)
    history.commit({"kettle/boiler.py": FIXED, "tests/test_boiler.py": TEST + BLIND}, MESSAGE, day=2)
    return start


@dataclass(frozen=True)
class Batch:
    command: Command
    done: Done

    def candidate(self, name: str) -> str:
        [row] = self.command.rows(f"SELECT candidate_id FROM candidates WHERE repository LIKE '%/{name}'")
        return str(row["candidate_id"])


@pytest.fixture(scope="module")
def batch(api: Api, python_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Batch]:
    """A run over a candidate that cannot be built, and one whose bug no test sees.

    The first asks for a version that does not exist and for a part of itself that no commit has: dropping the one does
    not help, and the other nobody can provide.
    """
    folder = tmp_path_factory.mktemp("batch")
    mirrors = {}
    for name, requirement, package in (
        ("broken", '"packaging>=9999"', "from kettle._native import boil  # noqa\n"),
        ("unseen", "", ""),
    ):
        repository = f"https://example.org/tea/{name}"
        hand_in(folder / "inbox", repository, kettle(folder / name, requirement, package))
        mirrors[repository] = folder / name
    config = write_config(folder / "envmill.toml", folder / "inbox", mirrors)
    lake = FileStore(folder / "home" / "lake")
    with serving_logs(lambda: lake, 0) as port:
        logs = {"ENVMILL_LOG_URL": f"http://127.0.0.1:{port}"}
        command = Command(folder / "home", {"PREFECT_API_URL": api.url, "ENVMILL_CONFIG": str(config), **logs})
        yield Batch(command, command("run", "--no-publish"))


def test_a_failed_build_and_a_rejection_in_one_run(batch: Batch, api: Api, engine: Engine) -> None:
    assert batch.done.code == 1, batch.done.said
    assert "archaeology: failed tests_not_collected" in batch.done.out
    assert "archaeology: rejected bug_not_seen" in batch.done.out
    assert " 0 not recorded" in batch.done.out
    assert containers_of(engine, batch.done.pid) == []
    found = batch.command.rows("SELECT repository, status, reason_code FROM candidates ORDER BY repository")
    assert [tuple(row.values())[1:] for row in found] == [
        ("not_reconstructed", "tests_not_collected"),
        ("not_reconstructed", "bug_not_seen"),
    ]
    [rejected] = api.runs("archaeology-unseen-")
    assert (rejected["state_type"], rejected["state_name"]) == ("COMPLETED", "Rejected")
    assert "bug_not_seen: no test fails before and passes after" in rejected["state"]["message"]
    [parent] = api.ask("flow_runs", flow_runs={"id": {"any_": [_flow_run(batch, "unseen")]}})
    assert parent["state_type"] == "COMPLETED"


REASON = "tests_not_collected: no test passes in the solution (1 ran, 1 files not collected): "
MISSING = "No module named 'kettle._native'"


def test_what_is_left_of_a_failed_build(batch: Batch, api: Api) -> None:
    [failed] = api.runs("archaeology-broken-")
    assert failed["state_type"] == "FAILED"
    assert failed["state"]["message"] == f"{REASON}ModuleNotFoundError: {MISSING}"
    artifacts = api.artifacts(failed["id"])
    assert {name: artifact["type"] for name, artifact in artifacts.items()} == {
        "failure": "markdown",
        "obstacles": "table",
        "log": "markdown",  # what Prefect makes of a link
    }
    candidate = batch.candidate("broken")
    with batch.command.started("show", candidate[:8], "--log", "archaeology") as process:
        shown, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "$ uv pip compile" in shown and "packaging>=9999" in shown and "[ended with 1 after" in shown
    assert f"the whole log: envmill show {candidate} --log archaeology" in batch.done.out
    obstacles = batch.command.rows("SELECT symptom, resolved FROM obstacles")
    assert any("packaging" in row["symptom"] for row in obstacles)
    assert any("kettle._native" in row["symptom"] and not row["resolved"] for row in obstacles)


def test_a_failed_build_can_be_understood_in_the_ui(batch: Batch, api: Api, tmp_path: Path) -> None:
    """As a person sees it, from the list of runs to the whole log."""
    ui, candidate = api.url.removesuffix("/api"), batch.candidate("broken")
    command = f"envmill show {candidate} --log archaeology"
    with browsing(tmp_path) as page:
        page.goto(f"{ui}/runs?state=Failed")
        page.get_by_role("link", name=re.compile("^archaeology-broken-")).first.click()
        expect(page.get_by_text("Failed", exact=True).first).to_be_visible()
        expect(page.get_by_text(f"archaeology failed, {REASON}").first).to_be_visible()
        expect(page.get_by_text("What stood in the way:").first).to_be_visible()
        picture(page, "failed-build-run", height=1250)

        page.get_by_text("Artifacts", exact=True).click()
        page.get_by_text(re.compile(f"^archaeology-{candidate}-failure$")).click()
        expect(page.get_by_role("heading", name="archaeology failed: tests_not_collected")).to_be_visible()
        expect(page.get_by_text(f"{REASON.partition(': ')[2]}ModuleNotFoundError: {MISSING}").first).to_be_visible()
        for heading, part in (
            ("What was said", f"E   ModuleNotFoundError: {MISSING}"),
            ("What stood in the way", f"{MISSING} → a package that only the tests import"),
            ("Dockerfile", "ARG BASE=debian:bookworm-slim"),
            ("End of the log", "== tests of the solution: end of their output"),
            ("Requirements", "packaging>=9999"),
            ("When the cause is mended", f"envmill run --retry archaeology {candidate}"),
        ):
            expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
            assert part in page.inner_text("body"), part
        expect(page.get_by_text(command)).to_be_visible()
        picture(page, "failed-build-page", height=1040, left=256)
        picture(page, "failed-build-page-end", height=1240, left=256, top=1040)
        assert page.get_by_role("link", name="The whole log").count() == 1
        _open_log(page)

        _open_artifact(page, api, candidate, "obstacles")
        table = page.get_by_role("table")
        recorded = batch.command.rows(f"SELECT resolved FROM obstacles WHERE candidate_id = '{candidate}'")
        expect(table.get_by_role("row")).to_have_count(1 + len(recorded))
        expect(table.get_by_role("row").nth(1)).to_contain_text("wheels only, as of the outcome")
        expect(table.get_by_role("row").filter(has_text="loosen_requirement")).to_contain_text("yes")
        expect(table.get_by_role("row").filter(has_text="add_module")).to_contain_text(MISSING)
        hidden = table.evaluate("table => table.parentElement.scrollWidth - table.parentElement.clientWidth")
        assert hidden <= 0, f"{hidden} pixels of the table are not on the screen"
        picture(page, "failed-build-obstacles", height=760)

        _open_artifact(page, api, candidate, "log")
        expect(page.get_by_text("In the lake:")).to_contain_text(f"candidates/{candidate}/archaeology/")
        expect(page.get_by_text(command)).to_be_visible()
        _open_log(page)


def test_hostile_text_is_only_text_in_the_ui(api: Api, tmp_path: Path) -> None:
    evil = "<img src=http://127.0.0.1:9/a.png> ![x](http://127.0.0.1:9/b.png) [click](http://127.0.0.1:9/c) `` **bold**"
    obstacle = ObstacleRow(
        candidate_id="c-1", phase=Phase.ARCHAEOLOGY, attempt=1, symptom=evil, remedy=evil, resolved=False
    )
    table = {"key": "hostile", "type": "table", "data": json.dumps(rows([obstacle]))}
    made = httpx.post(f"{api.url}/artifacts/", json=table, timeout=30).raise_for_status().json()
    with browsing(tmp_path) as page:
        page.goto(f"{api.url.removesuffix('/api')}/artifacts/artifact/{made['id']}")
        row = page.get_by_role("row").nth(1)
        expect(row).to_contain_text("<img src=")
        expect(row).to_contain_text("**bold**")
        assert row.locator("img, a, b, strong").count() == 0


def _open_artifact(page: Page, api: Api, candidate: str, name: str) -> None:
    [found] = api.ask("artifacts", artifacts={"key": {"any_": [f"archaeology-{candidate}-{name}"]}})
    page.goto(f"{api.url.removesuffix('/api')}/artifacts/artifact/{found['id']}")


def _open_log(page: Page) -> None:
    """The link opens the whole log, as text, in a tab of its own."""
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="The whole log").click()
    log = opened.value
    log.wait_for_load_state()
    text = log.inner_text("body")
    assert text.startswith("$ uv pip compile") and "packaging>=9999" in text and "[ended with 1 after" in text
    assert MISSING in text
    picture(log, "failed-build-log", height=760)
    log.close()


def test_a_phase_is_run_anew_from_a_deployment(batch: Batch, api: Api, deployed: Api, tmp_path: Path) -> None:
    candidate = batch.candidate("unseen")
    variables = batch.command.variables()

    options = ["-p", f"candidate_id={candidate}", "-p", "phase=archaeology"]
    prefect(api, tmp_path, ["deployment", "run", "rerun/rerun", *options])
    worker = subprocess.run(
        [sys.executable, "-m", "prefect", "worker", "start", "--pool", "process", "--run-once"],
        cwd=tmp_path,
        env={**os.environ, **variables, "PREFECT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )

    [run] = api.runs(f"rerun-archaeology-{candidate}")
    assert (run["state_type"], run["state_name"]) == ("COMPLETED", "Rejected"), worker.stdout + worker.stderr
    assert len(api.runs("archaeology-unseen-")) == 2
    manifests = list((batch.command.home / "lake" / "candidates" / candidate).glob("archaeology/*/manifest.json"))
    assert len(manifests) == 2
    [row] = batch.command.rows(
        f"SELECT count(*) AS runs FROM phase_runs WHERE candidate_id = '{candidate}' AND phase = 'archaeology'"
    )
    assert row["runs"] == 2
    assert tmp_path != ROOT


def _flow_run(batch: Batch, name: str) -> str:
    [row] = batch.command.rows(
        f"SELECT flow_run_id FROM phase_runs WHERE candidate_id = '{batch.candidate(name)}' AND phase = 'archaeology'"
    )
    return str(row["flow_run_id"])
