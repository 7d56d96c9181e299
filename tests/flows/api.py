"""What a person sees in the Prefect UI, asked of its API."""

from typing import Any

import httpx


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
        """Artifacts of a flow run by type."""
        found = self.ask("artifacts", artifacts={"flow_run_id": {"any_": [flow_run_id]}})
        return {artifact["type"]: artifact for artifact in found}
