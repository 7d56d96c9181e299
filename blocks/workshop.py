"""What a phase works with: settings, store, engine and mirrors, opened from the settings where a step begins.

Nothing of it passes between Prefect tasks; each step opens its own.
"""

from dataclasses import dataclass
from functools import cached_property

from blocks.engine import Engine, Owner
from blocks.lake import ObjectStore, open_store
from blocks.repositories import MirrorCache
from blocks.settings import Settings, load_settings


@dataclass
class Workshop:
    """Opened on first use, so that a command that needs no engine does not ask for one."""

    settings: Settings
    flow_run_id: str | None = None

    @cached_property
    def store(self) -> ObjectStore:
        """The lake."""
        return open_store(self.settings)

    @cached_property
    def engine(self) -> Engine:
        """The container engine. Raises ServiceMissingError where none answers."""
        return Engine.connect(self.settings.engine, Owner.current(self.flow_run_id))

    @cached_property
    def mirrors(self) -> MirrorCache:
        """Local copies of public repositories."""
        return MirrorCache(self.settings.home / "mirrors", self.settings.mirrors)


def open_workshop(flow_run_id: str | None = None) -> Workshop:
    """A workshop with the settings now in force."""
    return Workshop(load_settings(), flow_run_id)
