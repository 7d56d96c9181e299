"""Prefect's command line, ended when its standard input ends: `python -m flows.tether server start`.

Whoever starts it holds the other end of that pipe, and the kernel closes it with them, however they die: no server
outlives the run it was started for.
"""

import os
import runpy
import signal
import sys
import threading
import time

_GRACE_SEC = 20


def main() -> None:
    """Run Prefect with this process's arguments, tied to standard input."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.argv[0] = "prefect"
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_SEC)
    os._exit(1)


if __name__ == "__main__":
    main()
