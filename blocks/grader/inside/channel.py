"""The way to the grader: records on a descriptor that only this process has. plugin.py says what they are."""

from __future__ import annotations

import json
import os


class Channel:
    """Writes records; only the process that opened it (a fork of a test writes nothing)."""

    def __init__(self, fd: int, nonce: str) -> None:
        self._fd = fd
        self._nonce = nonce
        self._pid = os.getpid()

    def send(self, event: str, **values: object) -> None:
        """Write one record, whole."""
        if os.getpid() != self._pid:
            return
        record = json.dumps({"event": event, **values})
        data = f"{self._nonce} {record}\n".encode("ascii")
        while data:
            data = data[os.write(self._fd, data) :]
