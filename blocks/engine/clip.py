"""Bounded text: the head as it came, the last part, and a line that says how much is missing in between."""

from collections import deque
from typing import BinaryIO


class Clip:
    """Keeps the first `head` and the last `tail` bytes of a stream; with a sink, the head goes through at once."""

    def __init__(self, head: int, tail: int, sink: BinaryIO | None = None) -> None:
        self._head_left = head
        self._tail = tail
        self._sink = sink
        self._first = bytearray()
        self._last: deque[bytes] = deque()
        self._last_size = 0
        self._cut = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next part of the stream."""
        if self._head_left:
            part, chunk = chunk[: self._head_left], chunk[self._head_left :]
            self._head_left -= len(part)
            if self._sink:
                self._sink.write(part)
            else:
                self._first += part
        if not chunk:
            return
        self._last.append(chunk)
        self._last_size += len(chunk)
        while self._last_size - len(self._last[0]) >= self._tail:
            gone = self._last.popleft()
            self._last_size -= len(gone)
            self._cut += len(gone)

    def finish(self, note: str = "") -> bytes:
        """End the stream, with a closing line if given. Returns what was kept, or writes it to the sink."""
        last = b"".join(self._last)
        over = max(0, len(last) - self._tail)
        last = last[over:]
        cut = self._cut + over
        end = (f"\n[... {cut} bytes cut here ...]\n".encode() if cut else b"") + last
        if note:
            end += f"\n[{note}]\n".encode()
        if self._sink:
            self._sink.write(end)
            self._sink.flush()
            return b""
        return bytes(self._first) + end
