"""A build that fails is a Failed run with everything a person needs; a rejection is a Completed one; both in one batch."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.request import url2pathname

import pytest

from blocks.engine import Engine
from tests.flows.api import Api, prefect
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
def batch(api: Api, python_image: str, tmp_path_factory: pytest.TempPathFactory) -> Batch:
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
    command = Command(folder / "home", {"PREFECT_API_URL": api.url, "ENVMILL_CONFIG": str(config)})
    return Batch(command, command("run", "--no-publish"))


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


def test_a_failed_build_can_be_understood_in_the_ui(batch: Batch, api: Api) -> None:
    [failed] = api.runs("archaeology-broken-")
    assert failed["state_type"] == "FAILED"
    assert failed["state"]["message"].startswith("tests_not_collected: ")
    artifacts = api.artifacts(failed["id"])
    assert {name: artifact["type"] for name, artifact in artifacts.items()} == {
        "failure": "markdown",
        "obstacles": "table",
        "log": "markdown",  # what Prefect makes of a link
    }
    assert artifacts["failure"]["data"].startswith("# archaeology failed: `tests_not_collected`")
    assert "packaging>=9999" in artifacts["failure"]["data"]
    assert "wheels only, as of the outcome" in artifacts["obstacles"]["data"]
    address = artifacts["log"]["data"].partition("(")[2].rpartition(")")[0]
    assert address.startswith(f"file://{batch.command.home}/lake/candidates/{batch.candidate('broken')}/archaeology/")
    log = Path(url2pathname(address.removeprefix("file://"))).read_text()
    assert "$ uv pip compile" in log and "packaging>=9999" in log and "[ended with 1 after" in log
    obstacles = batch.command.rows("SELECT symptom, resolved FROM obstacles")
    assert any("packaging" in row["symptom"] for row in obstacles)
    assert any("kettle._native" in row["symptom"] and not row["resolved"] for row in obstacles)


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
