"""The script that the subject's Python runs: `python -u -B launch.py <report fd>`, with its orders as JSON on stdin.

Orders: `nonce` and `arguments` (of pytest). They come over stdin, which is closed before anything of the submission is
imported, so that neither the environment nor the command line shows the nonce. The folder of this script is taken off
sys.path: what the submission can import is what `pytest` alone would let it import.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import Any


def main() -> int:
    """Run pytest with the reporting plugin; the end record carries pytest's exit code."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]  # noqa: PTH100
    fd = int(sys.argv[1])
    os.set_inheritable(fd, False)
    orders = json.loads(sys.stdin.read())
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    sys.argv[:] = ["pytest", *orders["arguments"]]
    plugin = _load(here, "plugin")
    reporter = plugin.Reporter(plugin.Channel(fd, orders["nonce"]))
    import pytest

    code = int(pytest.main(orders["arguments"], plugins=[reporter]))
    reporter.end(code)
    return code


def _load(folder: str, name: str) -> Any:
    """Import a file of this folder under a name that no submission has, without a folder on sys.path."""
    package = "_grader_inside"
    for full, file in ((package, "__init__.py"), (package + "." + name, name + ".py")):
        where = [folder] if file == "__init__.py" else None
        spec = importlib.util.spec_from_file_location(
            full,
            os.path.join(folder, file),  # noqa: PTH118
            submodule_search_locations=where,
        )
        if spec is None or spec.loader is None:
            raise ImportError(full)
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
