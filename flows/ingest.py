"""Ingest: every item of the inboxes is looked at; consented ones become candidates, redacted before the first write."""

import asyncio
from collections.abc import Sequence

from prefect import flow

from tasks.ingest.steps import Taken, list_inbox, take_in


@flow(name="ingest")
async def ingest(inboxes: Sequence[str]) -> list[Taken]:
    """Take in each item of each inbox; a bad one never stops the rest. In the order of the items."""
    items = [item for inbox in inboxes for item in await list_inbox(inbox)]
    return list(await asyncio.gather(*(take_in(item) for item in items)))
