"""Money: nothing is asked that might cost more than is left. The worst case is set aside before a call, and what the call
did cost takes its place after it.

One purse serves a whole run. It is used from several event loops and threads, so it waits by looking again.
"""

import asyncio
from dataclasses import dataclass
from threading import Lock

from blocks.llm.faults import Fault, NoAnswerError

_LOOK_AGAIN_SEC = 0.05


@dataclass
class _Account:
    spent: float = 0.0
    set_aside: float = 0.0


@dataclass(frozen=True)
class Reservation:
    """Money set aside for one call of one candidate."""

    candidate_id: str
    usd: float


class Purse:
    """The budget of a run, and of each candidate in it; in USD."""

    def __init__(self, run_usd: float, candidate_usd: float) -> None:
        self.run_usd = run_usd
        self.candidate_usd = candidate_usd
        self._lock = Lock()
        self._run = _Account()
        self._candidates: dict[str, _Account] = {}

    @property
    def spent_usd(self) -> float:
        """What the run has cost so far; calls whose bill nobody knows count as dear as they can be."""
        return self._run.spent

    def left_usd(self, candidate_id: str) -> float:
        """What is neither spent nor set aside."""
        with self._lock:
            account = self._candidates.get(candidate_id, _Account())
            return min(self._left(self._run, self.run_usd), self._left(account, self.candidate_usd))

    async def reserve(self, candidate_id: str, usd: float) -> Reservation:
        """Set aside; waits while other calls hold what this one needs and may give it back.

        Raises:
            NoAnswerError: (budget) it would be too much even if they gave back everything.
        """
        while not self._take(candidate_id, usd):
            await asyncio.sleep(_LOOK_AGAIN_SEC)
        return Reservation(candidate_id, usd)

    def settle(self, reservation: Reservation, usd: float) -> None:
        """The call cost `usd`; the rest of what was set aside is free again."""
        with self._lock:
            for account in (self._run, self._candidates[reservation.candidate_id]):
                account.set_aside -= reservation.usd
                account.spent += usd

    def _take(self, candidate_id: str, usd: float) -> bool:
        with self._lock:
            account = self._candidates.setdefault(candidate_id, _Account())
            pairs = ((self._run, self.run_usd, "run"), (account, self.candidate_usd, "candidate"))
            for held, limit, name in pairs:
                if held.spent + usd > limit:
                    raise NoAnswerError(
                        Fault.BUDGET,
                        f"the next call may cost {usd:.4f} USD and {max(0.0, limit - held.spent):.4f} of the {name}'s "
                        f"{limit:.2f} are left; raise models.{name}_budget_usd, then run the phase again (`--retry qualify ID`)",
                    )
            if any(held.spent + held.set_aside + usd > limit for held, limit, _ in pairs):
                return False
            for held, _, _ in pairs:
                held.set_aside += usd
            return True

    @staticmethod
    def _left(account: _Account, limit: float) -> float:
        return max(0.0, limit - account.spent - account.set_aside)
