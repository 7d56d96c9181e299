"""What a phase works with: settings, store, engine and mirrors, opened from the settings where a step begins.

Nothing of it passes between Prefect tasks; each step opens its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial

from blocks.engine import Engine, Owner
from blocks.engine.retention import LastUse, make_room
from blocks.errors import ServiceMissingError, TransientError
from blocks.lake import ObjectStore, open_store
from blocks.records import CostRow, Phase
from blocks.repositories import MirrorCache
from blocks.settings import Settings, load_settings
from blocks.unfinished import is_unfinished


@dataclass
class Workshop:
    """Opened on first use, so that a command that needs no engine does not ask for one."""

    settings: Settings
    flow_run_id: str | None = None

    @cached_property
    def store(self) -> ObjectStore:
        """The lake. Raises ServiceMissingError where it does not answer; TransientError within a flow run."""
        with self._service():
            return open_store(self.settings)

    @cached_property
    def engine(self) -> Engine:
        """The container engine. Raises ServiceMissingError where none answers; TransientError within a flow run."""
        with self._service():
            engine = Engine.connect(self.settings.engine, Owner.current(self.flow_run_id))
        engine.last_use = self.last_use
        return engine

    @contextmanager
    def _service(self) -> Iterator[None]:
        """A command says what is missing before it begins; what goes missing after that may come back."""
        try:
            yield
        except ServiceMissingError as error:
            if self.flow_run_id is None:
                raise
            raise TransientError(str(error)) from error

    def engine_costs(self, candidate_id: str, phase: Phase) -> list[CostRow]:
        """What the containers of this workshop took."""
        usage = self.engine.usage
        taken = {"containers": float(usage.containers), "cpu_seconds": round(usage.cpu_seconds, 3)}
        return [
            CostRow(candidate_id=candidate_id, phase=phase, kind=kind, value=value) for kind, value in taken.items()
        ]

    @property
    def last_use(self) -> LastUse:
        """When images were last used."""
        return LastUse(self.settings.home / "images")

    def make_room(self) -> tuple[str, ...]:
        """Keep the images within the budget, where one is set. Returns what was removed.

        Environments of candidates that have not come to their end stay; the lake is asked, which knows at once.
        """
        budget_gb = self.settings.engine.disk_budget_gb
        if budget_gb is None:
            return ()
        wanted = partial(is_unfinished, self.store)
        return make_room(self.engine.api, self.last_use, int(budget_gb * 1e9), is_wanted=wanted)

    @cached_property
    def mirrors(self) -> MirrorCache:
        """Local copies of public repositories."""
        return MirrorCache(self.settings.home / "mirrors", self.settings.mirrors)


def open_workshop(flow_run_id: str | None = None) -> Workshop:
    """A workshop with the settings now in force."""
    return Workshop(load_settings(), flow_run_id)
