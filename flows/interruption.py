"""Ctrl-C and SIGTERM: containers of this process are removed, so that the threads that wait for them end at once.

Steps work in threads, which nothing can stop from outside; what they wait for is nearly always a container.
"""

import os
import signal
import threading
from types import FrameType

from blocks.errors import EnvmillError, TransientError
from blocks.workshop import Workshop

_GRACE_SEC = 30
_PAUSE_SEC = 0.5


class RunInterruptedError(TransientError):
    """Somebody ended the run, by Ctrl-C or SIGTERM."""


def end_like_interrupt() -> None:
    """Let SIGTERM unwind this process as Ctrl-C does. Must be called in the main thread."""

    def terminate(number: int, frame: FrameType | None) -> None:
        del number, frame
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminate)


class Undertaker:
    """Removes this process's containers, as often as a step starts another one, until it is told to rest.

    Where the process is still there after half a minute, it is ended: a step that is neither in a container nor can be
    stopped loses nothing but its own work.
    """

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._rest = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Begin."""
        if self._thread.ident is None:
            self._thread.start()

    def rest(self) -> None:
        """Remove what is there a last time, and end. Nothing happens where it never began."""
        if self._thread.ident is not None:
            self._rest.set()
            self._thread.join()
            self._remove()

    def _work(self) -> None:
        for _ in range(int(_GRACE_SEC / _PAUSE_SEC)):
            self._remove()
            if self._rest.wait(_PAUSE_SEC):
                return
        self._remove()
        os._exit(130)

    def _remove(self) -> None:
        try:
            self._workshop.engine.remove_own()
        except EnvmillError:
            return  # the engine is gone or busy: tried again, and the reaper of the next run is there in the end
