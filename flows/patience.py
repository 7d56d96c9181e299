"""Calls of a flow itself, outside its tasks, that outlast a store or engine that fails for a while."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from blocks.errors import TransientError
from blocks.lake import LeaseHeldError, ObjectStore
from blocks.workshop import Workshop

P = ParamSpec("P")
Result = TypeVar("Result")

DELAYS_SEC = (1, 2, 4, 8, 16)
"""Waits between tries; half a minute in all, as long as the tasks of a phase wait."""


async def patiently(work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
    """Do blocking work in a thread; what is transient is tried again. A lease that another worker holds is not waited for.

    Raises:
        TransientError: it still fails after the last wait.
    """
    for delay in DELAYS_SEC:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except LeaseHeldError:
            raise
        except TransientError:
            await asyncio.sleep(delay)
    return await asyncio.to_thread(work, *args, **kwargs)


async def opened(workshop: Workshop) -> ObjectStore:
    """The lake of a workshop, which is opened on first use: also that may take a while."""
    return await patiently(lambda: workshop.store)
