"""Logs of phase runs: which they are, and over HTTP on loopback, so that links to them open.

A browser follows no `file://` or `s3://` link from a page, so the Prefect UI links here. Only logs are served, as plain
text that a browser neither renders nor runs, and only to who asks for this machine by name or address: a page of
somebody else that lets its own name point here gets nothing.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from blocks.errors import EnvmillError, ServiceMissingError, UsageError
from blocks.lake import Manifest, ObjectMissingError, ObjectStore
from blocks.lake.commit import MANIFEST
from blocks.records import Phase

_NAMES = ("build.log", "archaeology.log")
_PATH = re.compile(r"/(candidates/c-[0-9a-f]+/[a-z]+/[0-9a-f]+/[a-z]+\.log)")
_LOCAL = frozenset({"127.0.0.1", "localhost"})
_HEADERS = {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "no-store",
}


def log_name(names: Iterable[str]) -> str | None:
    """Which of a phase run's files is its log."""
    found = set(names)
    return next((name for name in _NAMES if name in found), None)


def last_log(store: ObjectStore, candidate_id: str, phase: str) -> bytes:
    """The log of the phase run of a candidate that was committed last.

    Raises:
        UsageError: there is none.
    """
    folder = f"candidates/{candidate_id}/{phase}/"
    if phase not in list(Phase):
        raise UsageError(f"{phase!r} is no phase; phases are {', '.join(Phase)}")
    runs = [
        Manifest.model_validate_json(store.get(info.key)) for info in store.list(folder) if info.key.endswith(MANIFEST)
    ]
    for manifest in sorted(runs, key=lambda run: run.committed_at, reverse=True):
        if name := log_name(entry.name for entry in manifest.files):
            return store.get(manifest.key.prefix + name)
    raise UsageError(f"{candidate_id}: no log of {phase}; archaeology and containerize keep one where they have run")


def local_port(log_url: str) -> int | None:
    """The port on this machine that links to logs name; None where another machine serves them."""
    parts = urlsplit(log_url)
    return parts.port if parts.scheme == "http" and parts.hostname in _LOCAL else None


@contextmanager
def serving_logs(store: Callable[[], ObjectStore], port: int) -> Iterator[int]:
    """Serve the logs of the lake on loopback while the body runs; gives the port, which 0 leaves to the system.

    Raises:
        ServiceMissingError: the port is taken.
    """
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), _handler(store))
    except OSError as error:
        raise ServiceMissingError(
            f"logs cannot be served on port {port}: {error.strerror}; end what listens there, or set ENVMILL_LOG_URL"
        ) from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _host(header: str) -> str | None:
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def _handler(store: Callable[[], ObjectStore]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = "envmill"
        sys_version = ""

        def do_GET(self) -> None:
            """Answer with a log."""
            status, content = self._look()
            self.send_response(status)
            for name, value in {**_HEADERS, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def _look(self) -> tuple[HTTPStatus, bytes]:
            if _host(self.headers.get("Host", "")) not in _LOCAL:
                return HTTPStatus.FORBIDDEN, b"Only for this machine.\n"
            found = _PATH.fullmatch(urlsplit(self.path).path)
            if not found:
                return HTTPStatus.NOT_FOUND, b"Only logs of phase runs are served here.\n"
            try:
                return HTTPStatus.OK, store().get(found[1])
            except ObjectMissingError:
                return HTTPStatus.NOT_FOUND, b"No such log; its candidate may have been withdrawn.\n"
            except EnvmillError as error:
                return HTTPStatus.SERVICE_UNAVAILABLE, f"{error}\n".encode()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: who reads which log is nobody's business."""

    return Handler
