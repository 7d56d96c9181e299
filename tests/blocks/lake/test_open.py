"""From settings to a store, and what is said where that cannot be."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from pydantic import SecretStr

from blocks.errors import PermanentError, ServiceMissingError, UsageError
from blocks.lake import open_store
from blocks.lake.file import FileStore
from blocks.settings import S3Settings, Settings
from tests.s3server import S3Server


def settings(home: Path, lake: str | None = None, s3: S3Settings | None = None) -> Settings:
    return Settings(home=home, lake=lake, s3=s3 or S3Settings())


def test_files(tmp_path: Path) -> None:
    store = open_store(settings(tmp_path))
    assert isinstance(store, FileStore) and store.root == tmp_path / "lake"
    spaced = open_store(settings(tmp_path, (tmp_path / "a b%c").as_uri()))
    spaced.put("x", b"1")
    assert (tmp_path / "a b%c" / "x").read_bytes() == b"1"


@pytest.mark.parametrize("lake", ["lake", "file://host/lake", "file:lake", "s3://", "https://bucket/x", "s3://b/x?y"])
def test_addresses_that_are_none(tmp_path: Path, lake: str) -> None:
    with pytest.raises(UsageError, match="ENVMILL_LAKE"):
        open_store(settings(tmp_path, lake))


@pytest.mark.s3
def test_s3_says_which_setting_to_mend(tmp_path: Path, s3_server: S3Server) -> None:
    good = s3_server.settings
    store = open_store(settings(tmp_path, f"s3://{s3_server.bucket}/open/it", good))
    store.put("x", b"1")
    assert store.uri("x") == f"s3://{s3_server.bucket}/open/it/x"
    assert [info.key for info in store.list()] == ["x"], "the probe leaves nothing"
    with pytest.raises(PermanentError, match=r"no such bucket.*ENVMILL_LAKE"):
        open_store(settings(tmp_path, "s3://no-such-bucket", good))
    wrong = good.model_copy(update={"secret_access_key": SecretStr("hunter2-wrong")})
    with pytest.raises(PermanentError, match="ENVMILL_S3__SECRET_ACCESS_KEY") as caught:
        open_store(settings(tmp_path, f"s3://{s3_server.bucket}", wrong))
    assert "hunter2" not in str(caught.value)
    with pytest.raises(UsageError, match="ENVMILL_S3__ENDPOINT_URL"):
        open_store(settings(tmp_path, "s3://bucket", S3Settings(endpoint_url="no url")))


class Careless(BaseHTTPRequestHandler):
    """A server that speaks enough S3 to be trusted, and ignores the headers of conditional writes."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]
    broken: bool

    def do_HEAD(self) -> None:
        self._answer(b"", body=False)

    def do_GET(self) -> None:
        self._answer(self.objects.get(self.path, b""))

    def do_PUT(self) -> None:
        self.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"")

    def do_DELETE(self) -> None:
        self.objects.pop(self.path, None)
        self._answer(b"")

    def _answer(self, content: bytes, *, body: bool = True) -> None:
        self.send_response(503 if self.broken else 200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.mark.parametrize("broken", [False, True])
def test_a_server_that_ignores_conditions_or_is_down_is_refused(
    tmp_path: Path, broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # botocore waits between its tries
    handler = type("Handler", (Careless,), {"objects": {}, "broken": broken})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        keys = S3Settings(endpoint_url=endpoint, access_key_id=SecretStr("a"), secret_access_key=SecretStr("b"))
        expected = (ServiceMissingError, "busy") if broken else (PermanentError, "conditional writes")
        with pytest.raises(expected[0], match=expected[1]):
            open_store(settings(tmp_path, "s3://bucket/x", keys))
        server.shutdown()
    assert handler.objects == {}
    with pytest.raises(ServiceMissingError, match="ENVMILL_S3__ENDPOINT_URL"):
        open_store(settings(tmp_path, "s3://bucket/x", keys))
