"""What a person sees in the Prefect UI, asked of its API."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.flows.command import ROOT


class Api:
    """A Prefect server. Records are the API's own JSON."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, what: str, **body: object) -> list[dict[str, Any]]:
        """All records of a kind (`flow_runs`, `artifacts`, ...) that a filter lets through; 200 at most."""
        answer = httpx.post(f"{self.url}/{what}/filter", json=body, timeout=30)
        answer.raise_for_status()
        found = answer.json()
        assert isinstance(found, list)
        return found

    def runs(self, name_part: str) -> list[dict[str, Any]]:
        """Flow runs whose name holds this."""
        return self.ask("flow_runs", flow_runs={"name": {"like_": name_part}})

    def artifacts(self, flow_run_id: str) -> dict[str, dict[str, Any]]:
        """Artifacts of a flow run by the last word of their key."""
        found = self.ask("artifacts", artifacts={"flow_run_id": {"any_": [flow_run_id]}})
        return {artifact["key"].rpartition("-")[2]: artifact for artifact in found}


def prefect(api: Api, home: Path, arguments: Sequence[str], cwd: Path = ROOT) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ENVMILL_", "PREFECT_"))}
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", *arguments],
        cwd=cwd,
        env={**kept, "PREFECT_API_URL": api.url, "PREFECT_HOME": str(home), "PWD": str(cwd)},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
