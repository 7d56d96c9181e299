"""Bringing the catalog up to date from a flow or a command, also where the store fails for a while in the middle."""

import secrets

from blocks.catalog import IndexReport, index
from blocks.lake import Owner
from blocks.workshop import Workshop
from flows.patience import opened, patiently


async def index_patiently(workshop: Workshop) -> IndexReport:
    """Load what is new. A try that could not give its lease back does not stand in the way of the next.

    Raises:
        LeaseHeldError: another indexer is at work.
        TransientError, PermanentError: as `blocks.catalog.index`.
    """
    owner = Owner.current(workshop.flow_run_id or secrets.token_hex(16))
    return await patiently(index, await opened(workshop), workshop.settings, owner)
