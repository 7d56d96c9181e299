"""Downloads of source distributions: who is told the index's credentials."""

import http.server
import threading
from collections.abc import Iterator

import pytest

from blocks.builder.source_fetch import download

Asked = list[tuple[str, str | None]]


@pytest.fixture
def server() -> Iterator[tuple[str, Asked]]:
    """Its address, and the path and credentials of every request. `/sends` sends on to another name of the same machine."""
    asked: Asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Authorization")))
            if self.path == "/sends":
                self.send_response(302)
                self.send_header("Location", f"http://localhost:{self.headers['Host'].rpartition(':')[2]}/file")
            else:
                self.send_response(200)
            self.send_header("Content-Length", "0" if self.path == "/sends" else "4")
            self.end_headers()
            if self.path != "/sends":
                self.wfile.write(b"pack")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"127.0.0.1:{httpd.server_address[1]}", asked
        httpd.shutdown()
        thread.join()


def test_credentials_go_to_the_index_alone(server: tuple[str, Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    address, asked = server
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://reader:secret@{address}/simple")
    assert download(f"http://{address}/file") == download(f"http://{address}/sends") == b"pack"
    told = "Basic cmVhZGVyOnNlY3JldA=="
    assert asked == [("/file", told), ("/sends", told), ("/file", None)]
    asked.clear()
    port = address.partition(":")[2]
    download(f"http://localhost:{port}/file")
    assert asked == [("/file", None)], "another name"
