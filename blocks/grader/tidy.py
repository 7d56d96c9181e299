"""What the subject left where everybody may write (also memory, in /dev/shm) goes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from . import tree
from .account import Account

SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


def remove_shared(account: Account) -> None:
    """Remove the subject's entries of the shared folders. None of its processes is running."""
    for folder in map(Path, SHARED_FOLDERS):
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(folder):  # noqa: PTH208
                if (folder / name).lstat().st_uid == account.uid:
                    tree.remove(folder / name)
