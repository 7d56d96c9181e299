"""The script that the subject's Python runs: `python3 -I -S -u -B launch.py <report fd>`, with its orders as JSON on stdin.

Orders: `nonce`, `workspace` and `build` (blocks.recipe.NativeBuild). stdin is closed before anything is built.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path

PACKAGE = "_native_inside"


def main() -> int:
    """Build, test, report; the end record carries 0 (all passed), 1 (not all) or 5 (no test ran)."""
    conceal()
    here = Path(__file__).resolve().parent
    fd = int(sys.argv[1])
    os.set_inheritable(fd, False)
    orders = json.loads(sys.stdin.read())
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    spec = importlib.util.spec_from_file_location(
        PACKAGE, str(here / "__init__.py"), submodule_search_locations=[str(here)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(str(here))
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    channel = importlib.import_module(f"{PACKAGE}.channel").Channel(fd, orders["nonce"])
    code = int(importlib.import_module(f"{PACKAGE}.suite").run(orders, channel.send))
    channel.send("end", exit_code=code)
    return code


def conceal() -> None:
    """Other processes of this user may neither read this one's memory, where the nonce is, nor open its descriptors.

    Where the system can (prctl(2), PR_SET_DUMPABLE, and ctypes); programs that are started from here are not concerned.
    """
    try:
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


if __name__ == "__main__":
    sys.exit(main())
