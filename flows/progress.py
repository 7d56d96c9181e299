"""Events of a run for whoever watches it in the same process: the command line's progress display."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from blocks.records import Phase


@dataclass(frozen=True)
class Event:
    """A phase began (`outcome` None) or ended for a candidate."""

    candidate_id: str
    label: str
    phase: Phase
    outcome: str | None = None
    reason_code: str = ""
    message: str = ""
    reused: bool = False
    seconds: float = 0.0


Listener = Callable[[Event], None]

listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def tell(event: Event) -> None:
    """Pass an event on; nothing happens where nobody listens."""
    heard = listener.get()
    if heard is not None:
        heard(event)
