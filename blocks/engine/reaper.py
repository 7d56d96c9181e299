"""Removes containers that a process of ours left behind; never one that somebody may still be using."""

import time
from collections.abc import Callable, Mapping

from docker import APIClient
from pydantic import ValidationError

from blocks.engine.faults import ContainerEndedError, engine_faults
from blocks.owner import Owner

OWNER, DEADLINE, FLOW_RUN, ROLE = "envmill.owner", "envmill.deadline", "envmill.flow_run", "envmill.role"
"""Labels of every container envmill starts. On images they are there but empty: the engine copies labels on commit."""

LATE_SEC = 60
"""How long past its deadline a container is left to the process that started it."""


def reap(api: APIClient) -> int:
    """Remove containers whose owner is dead or whose deadline is past."""
    return _remove(api, lambda labels: is_left_over(labels, time.time()))


def remove_owned(api: APIClient, owner: Owner) -> int:
    """Remove the containers of one process, whatever it is doing with them."""
    return _remove(api, lambda labels: _same_process(labels, owner))


def remove_of_run(api: APIClient, owner: Owner) -> int:
    """Remove the containers of one process that it started for the flow run the owner names."""
    run = owner.flow_run_id
    return _remove(api, lambda labels: bool(run) and labels.get(FLOW_RUN) == run and _same_process(labels, owner))


def _remove(api: APIClient, chosen: Callable[[Mapping[str, str]], bool]) -> int:
    with engine_faults("listing containers"):
        rows = api.containers(all=True, filters={"label": OWNER})
    removed = 0
    for row in rows:
        if not chosen(row.get("Labels") or {}):
            continue
        try:
            with engine_faults("removing a container"):
                api.remove_container(row["Id"], force=True, v=True)
        except ContainerEndedError:
            continue
        removed += 1
    return removed


def _same_process(labels: Mapping[str, str], owner: Owner) -> bool:
    try:
        found = Owner.model_validate_json(labels.get(OWNER, ""))
    except ValidationError:
        return False
    return found.same_process(owner)


def is_left_over(labels: Mapping[str, str], now: float) -> bool:
    """Whether nobody can be using a container with these labels."""
    try:
        owner = Owner.model_validate_json(labels.get(OWNER, ""))
        deadline = float(labels.get(DEADLINE, ""))
    except (ValidationError, ValueError):
        return False
    return owner.is_dead() or now > deadline + LATE_SEC
