"""Entry of the published copy (`python3 -I -S /tests/grader ...`) and of `python -m blocks.grader`.

Started as a folder it has no package: the folder is then loaded as the package `grader`, without its parent on
sys.path, and without writing bytecode beside the sources.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path


def _package() -> str:
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != here]
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(
        "grader", str(here / "__init__.py"), submodule_search_locations=[str(here)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(str(here))
    package = importlib.util.module_from_spec(spec)
    sys.modules["grader"] = package
    spec.loader.exec_module(package)
    return "grader"


if __name__ == "__main__":
    sys.exit(importlib.import_module((__package__ or _package()) + ".command").main(sys.argv[1:]))
