"""An OpenAI-compatible endpoint on loopback that does what a test tells it, also what no endpoint should."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What is sent back. `sent` bytes of the body, then the connection is cut; `wait_sec` before anything."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: int | None = None
    wait_sec: float = 0.0


Script = Callable[[dict[str, Any], int], Answer]
"""Of the request and its number, counted from 1, the answer."""


def says(
    text: str | None,
    *,
    calls: tuple[tuple[str, object], ...] = (),
    finish: str | None = None,
    refusal: str | None = None,
    prompt_tokens: int = 100,
    completion_tokens: int = 20,
) -> Answer:
    """A completion; `calls` are tools with their arguments (text is sent as it is)."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"random-{time.time_ns()}-{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                },
            }
            for number, (name, arguments) in enumerate(calls)
        ]
    if refusal:
        message["refusal"] = refusal
    body = {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served",
        "choices": [
            {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")},
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }
    return Answer(json.dumps(body).encode())


class ModelServer:
    """The endpoint. `requests` holds what was asked, in order."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.most_in_flight = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with server._entered(request) as number:
                    answer = server.script(request, number)
                    time.sleep(answer.wait_sec)
                self.send_response(answer.status)
                length = {"Content-Type": "application/json", "Content-Length": str(len(answer.body))}
                for name, value in {**length, **answer.headers}.items():
                    self.send_header(name, value)
                if answer.sent == 0:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                self.end_headers()
                self.wfile.write(answer.body[: answer.sent])
                if answer.sent is not None:
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True

        class Listening(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 512

            def handle_error(self, *_: object) -> None:
                """A client that gives up is what some tests are about."""

        self._server = Listening(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    @contextmanager
    def _entered(self, request: dict[str, Any]) -> Iterator[int]:
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            yield number
        finally:
            with self._lock:
                self._in_flight -= 1

    def __enter__(self) -> "ModelServer":
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
