import ast
import importlib
import sys

import pytest
import yaml

from tests.flows.api import Api
from tests.flows.command import ROOT


def test_no_module_of_flows_is_named_like_one_of_the_standard_library() -> None:
    """Prefect puts the folder of an entrypoint first on sys.path."""
    names = {path.stem for path in (ROOT / "flows").glob("*.py")} - {"__init__"}
    assert not names & set(sys.stdlib_module_names)


INNER = {"flows.qualify.qualifier_run", "flows.qualify.qualify_wave"}
"""Parts of other flows: nobody starts them alone."""


def test_every_flow_is_deployed() -> None:
    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    flows = set()
    for path in (ROOT / "flows").glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.AsyncFunctionDef) and "flow" in [_name(part) for part in node.decorator_list]:
                flows.add(f"flows.{path.stem}.{node.name}")
    assert {deployment["entrypoint"] for deployment in deployments} == flows - INNER and flows >= INNER


def _name(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


@pytest.mark.prefect
@pytest.mark.slow
def test_deploy_all(deployed: Api) -> None:
    found = {deployment["name"]: deployment for deployment in deployed.ask("deployments")}
    assert set(found) >= {"nightly", "rerun", "archaeology"}
    for deployment in found.values():
        assert deployment["work_pool_name"] == "process"
        [(step, options)] = deployment["pull_steps"][0].items()
        assert step == "prefect.deployments.steps.set_working_directory"
        assert options == {"directory": str(ROOT)}
        module, _, function = deployment["entrypoint"].rpartition(".")
        assert callable(getattr(importlib.import_module(module), function))

    nightly = found["nightly"]
    assert [schedule["schedule"]["cron"] for schedule in nightly["schedules"]] == ["0 2 * * *"]
    assert nightly["global_concurrency_limit"]["limit"] == 1
    assert nightly["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    asked = found["rerun"]["parameter_openapi_schema"]
    assert asked["required"] == ["candidate_id", "phase"]
    assert asked["properties"]["phase"]["enum"] == ["qualify", "archaeology", "containerize", "synthesis", "capture"]
