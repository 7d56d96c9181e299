"""Runs in a container of its own, as the unprivileged user, without a network: builds one source distribution (PEP 517).

It runs the distribution's code and is not to be believed: what it leaves is data for whoever started it. Standard
library only; Python 3.9 and later. Exit code 0: a wheel was built, or `asked.json` names what the build needs besides.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

LEGACY = "setuptools.build_meta:__legacy__"


def main(archive: Path, out: Path, backend: str, backend_path: "list[str]", given: "list[str]") -> int:
    """`given`: requirements of the build that are there. Those its hook asks for besides are fetched by others."""
    place = out.parent / "source"
    place.mkdir()
    if archive.suffix == ".zip":
        shutil.unpack_archive(archive, place)
    else:
        with tarfile.open(archive) as bundle:
            bundle.extractall(place)
    tops = [path for path in place.iterdir() if path.is_dir()]
    if len(tops) != 1:
        sys.stderr.write(f"{archive.name} holds {len(tops)} folders at its top, not one\n")
        return 1
    os.chdir(tops[0])
    sys.path[:0] = [str(tops[0] / path) for path in backend_path]
    module, _, attribute = backend.partition(":")
    hooks: Any = importlib.import_module(module)
    for name in filter(None, attribute.split(".")):
        hooks = getattr(hooks, name)
    if hasattr(hooks, "get_requires_for_build_wheel"):
        asked = [str(item) for item in hooks.get_requires_for_build_wheel({}) or ()]
        missing = [item for item in asked if item not in given]
        if missing:
            (out.parent / "asked.json").write_text(json.dumps(missing), encoding="utf-8")
            return 0
    os.chdir(tops[0])
    if backend != LEGACY:
        hooks.build_wheel(str(out), {})
        return 0
    done = subprocess.run(
        [sys.executable, "-c", f"from setuptools import build_meta\nbuild_meta.__legacy__.build_wheel({str(out)!r})"],
        check=False,
    )
    # A setup.py from before PEP 517 may want to be run as a script.
    if done.returncode and not list(out.glob("*.whl")):
        done = subprocess.run([sys.executable, "setup.py", "-q", "bdist_wheel", "-d", str(out)], check=False)
    return done.returncode


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    archive, out = Path(orders["archive"]), Path(orders["out"])
    sys.exit(main(archive, out, orders["backend"], orders["backend_path"], orders["given"]))
