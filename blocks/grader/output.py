"""Writes the grader's own files into a folder that the subject may have been able to write to."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from . import tree

BALLAST_BYTES = 1 << 20
REWARD_FILES = ("reward.json", "reward.txt", "details.json")


class OutputFolder:
    """The folder of the verdict. Nothing in it is trusted, and the folder itself may not be a link.

    It holds a megabyte of the disk open from the start, so that a submission that fills the disk still gets its 0.
    """

    def __init__(self, path: Path) -> None:
        if not tree.is_folder(path):
            tree.remove(path)
            path.mkdir(parents=True, mode=0o755)
        self._path = path
        for name in REWARD_FILES:
            tree.remove(path / name)
        ballast = path / f".ballast-{secrets.token_hex(8)}"
        self._ballast = os.open(ballast, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        os.posix_fallocate(self._ballast, 0, BALLAST_BYTES)
        ballast.unlink()

    def release(self) -> None:
        """Give the held megabyte back."""
        os.ftruncate(self._ballast, 0)

    def write(self, details: dict[str, object], reward: int | None) -> None:
        """details.json, and where there is a reward reward.txt and, last, reward.json. Each appears whole or not."""
        if not tree.is_folder(self._path):
            tree.remove(self._path)
            self._path.mkdir(parents=True, mode=0o755)
        for name in REWARD_FILES:
            tree.remove(self._path / name)
        write_whole(self._path / "details.json", json.dumps(details, indent=1, sort_keys=True) + "\n")
        if reward is not None:
            write_whole(self._path / "reward.txt", f"{reward}\n")
            write_whole(self._path / "reward.json", json.dumps({"reward": reward}) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file under another name, then rename it into place; whatever lay there is removed."""
    tree.remove(path)
    new = path.parent / f".new-{secrets.token_hex(8)}"
    tree.write_new(new, text.encode("utf-8"))
    new.rename(path)
