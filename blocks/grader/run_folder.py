"""The folder and the environment of one run, whatever runner it is for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import tree
from .account import Account

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@contextmanager
def run_folder(account: Account, inside: Path, names: Iterable[str]) -> Iterator[Path]:
    """`runner/` is ours and holds copies of the named files of `inside`; `home/` and `tmp/` are the subject's.

    All of it goes afterwards, whatever is in it.
    """
    folder = Path(tempfile.mkdtemp(prefix="run-"))
    try:
        folder.chmod(0o755)
        for name in ("runner", "home", "tmp"):
            (folder / name).mkdir(mode=0o755)
        for name in names:
            tree.write_new(folder / "runner" / name, (inside / name).read_bytes())
        for name in ("home", "tmp"):
            (folder / name).chmod(0o700)
            if account.switch:
                os.chown(folder / name, account.uid, account.gid)
        yield folder
    finally:
        tree.remove(folder)


def subject_environment(account: Account, folder: Path) -> dict[str, str]:
    """All that any subject gets of an environment: an allow-list."""
    return {
        "PATH": SYSTEM_PATH,
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "USER": account.name,
        "LOGNAME": account.name,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
