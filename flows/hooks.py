"""Hooks of deployed flows: they run in the worker, after the process of the flow run has ended."""

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State

from blocks.workshop import open_workshop


def remove_left_overs(flow: "Flow[..., object]", flow_run: FlowRun, state: "State[object]") -> None:
    """Remove the containers of processes that are gone: those of a cancelled or crashed run among them."""
    del flow, state
    open_workshop(str(flow_run.id)).engine.reap()
