"""Ingest: every item of the inboxes is looked at; consented ones become candidates, redacted before the first write."""

import asyncio
from collections.abc import Sequence

from prefect import flow
from prefect.runtime import flow_run

from blocks.errors import EnvmillError
from blocks.records import Record
from flows.abandoned import sign
from tasks.ingest.steps import Taken, list_inbox, take_in


class Intake(Record):
    """What became of the items, in their order."""

    taken: tuple[Taken, ...]
    crashed: tuple[str, ...]
    """Why, for each item that could not be dealt with; the next run tries again."""


@flow(name="ingest")
async def ingest(inboxes: Sequence[str]) -> Intake:
    """Take in each item of each inbox; a bad one never stops the rest."""
    await sign(str(flow_run.id))
    listed = [await _listed(inbox) for inbox in inboxes]
    ended = await asyncio.gather(*(_taken(item) for items in listed if isinstance(items, list) for item in items))
    return Intake(
        taken=tuple(item for item in ended if isinstance(item, Taken)),
        crashed=tuple(item for item in (*listed, *ended) if isinstance(item, str)),
    )


async def _listed(inbox: str) -> list[str] | str:
    """Addresses of the items, or why they cannot be listed."""
    try:
        return await list_inbox(inbox)
    except EnvmillError as error:
        return f"{inbox}: {error}"


async def _taken(item: str) -> Taken | str:
    try:
        return await take_in(item)
    except EnvmillError as error:
        return f"{item}: {error}"
