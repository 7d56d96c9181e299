"""The whole log of a piece of work: every command that ran in its containers, and what each said."""

import re
import shlex
from collections.abc import Sequence
from threading import Lock

from blocks.engine.clip import Clip

_CREDENTIALS = re.compile(rb"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)")
_LONGEST_COMMAND = 2000


class Transcript:
    """Bounded: what is over `max_bytes` is cut in the middle and says so. Credentials in addresses are left out."""

    def __init__(self, max_bytes: int) -> None:
        self._clip = Clip(max_bytes // 2, max_bytes // 2)
        self._writing = Lock()

    def command(self, argv: Sequence[str], user: str, output: bytes, ending: str) -> None:
        """Add a command that has ended."""
        said = shlex.join(argv)
        if len(said) > _LONGEST_COMMAND:
            said = said[:_LONGEST_COMMAND] + " ..."
        self.note(f"$ {said}  # as {user}")
        with self._writing:
            self._clip.feed(_CREDENTIALS.sub(b"***", output).rstrip() + b"\n")
        self.note(f"[{ending}]")

    def note(self, text: str) -> None:
        """Add a line of our own."""
        with self._writing:
            self._clip.feed(f"{text}\n".encode(errors="replace"))

    def content(self) -> bytes:
        """Everything; ends the transcript."""
        with self._writing:
            return self._clip.finish()
