"""The output of a command in a container, read from the engine's hijacked connection.

docker-py's own reader takes the bare socket and loses what arrived together with the response's headers; under load
that is the beginning of the output. This one reads through the connection's buffer.
"""

import io
import select
import ssl
import struct
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from docker import APIClient

from blocks.engine.faults import engine_faults
from blocks.engine.raw import start_exec

_HEADER = struct.Struct(">BxxxL")


class ExecStream:
    """Starts an exec and gives its output. Closing it does not end the command."""

    def __init__(self, api: APIClient, exec_id: str) -> None:
        with engine_faults("starting a command"):
            self._response = start_exec(api, exec_id)
        self._buffer: io.BufferedReader = self._response.raw._fp.fp
        raw: Any = self._buffer.raw
        self._socket = raw._sock
        self._socket.setblocking(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._response.close()

    def chunks(self, tick_sec: float) -> Iterator[bytes]:
        """Output as it comes, stdout and stderr in one; an empty chunk for each tick in which nothing came."""
        pending = bytearray()
        poller = select.poll()
        poller.register(self._socket, select.POLLIN | select.POLLHUP | select.POLLERR)
        data, ready = self._read(), True
        while True:
            if data:
                pending += data
                yield from _frames(pending)
            elif ready and data is not None:
                return
            ready = bool(poller.poll(tick_sec * 1000))
            data = self._read() if ready else None
            if not ready:
                yield b""

    def _read(self) -> bytes | None:
        """What is there; b"" at the end of the stream, None where nothing has come yet."""
        try:
            return self._buffer.read1(1 << 16) or self._at_end()
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except ConnectionResetError:
            return b""

    def _at_end(self) -> bytes | None:
        """read1 gives b"" both for nothing yet and for the end: the socket knows which."""
        try:
            return self._socket.recv(1 << 16)  # type: ignore[no-any-return]
        except (BlockingIOError, ssl.SSLWantReadError):
            return None


def _frames(pending: bytearray) -> Iterator[bytes]:
    """Take the whole frames off `pending` (engine API, "Stream format": type, three zero bytes, length, payload)."""
    while len(pending) >= _HEADER.size:
        _, length = _HEADER.unpack_from(pending)
        if len(pending) < _HEADER.size + length:
            return
        yield bytes(pending[_HEADER.size : _HEADER.size + length])
        del pending[: _HEADER.size + length]


class ChunkReader(io.RawIOBase):
    """An iterator of chunks as a readable file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what comes next; 0 at the end."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def as_file(chunks: Iterator[bytes]) -> io.BufferedReader:
    """A buffered file over chunks, read once from start to end."""
    return io.BufferedReader(ChunkReader(chunks), 1 << 16)
