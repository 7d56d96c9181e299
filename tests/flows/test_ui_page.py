"""The text of a failure: what it says, and that nothing a repository wrote can be more than text on the page."""

import http.client
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.errors import ServiceMissingError, UsageError
from blocks.lake import PhaseKey, PhaseWriter, commit_phase
from blocks.lake.file import FileStore
from blocks.records import CandidateRow, ObstacleRow, Outcome, Phase, ReasonCode
from flows.failure_page import Failure, LogPlace, headline, markdown, plain, rows, tail
from flows.logs import last_log, local_port, serving_logs

CANDIDATE = "c-00000000cafebabe"
PLACE = LogPlace("http://127.0.0.1:4201/x.log", "s3://lake/x.log", f"envmill show {CANDIDATE} --log archaeology")
PYTEST = """no test passes (1 ran):
=== ERRORS ===
ImportError while importing
E   ModuleNotFoundError: No module named 'x'
1 error
"""


def failure(message: str = PYTEST, *, symptom: str = "it did not", log: str = "end\n") -> Failure:
    row = CandidateRow.model_construct(
        candidate_id=CANDIDATE, repository="https://example.org/tea/kettle", start_commit="5" * 40
    )
    obstacle = ObstacleRow(
        candidate_id=CANDIDATE, phase=Phase.ARCHAEOLOGY, attempt=1, symptom=symptom, remedy="left out", resolved=False
    )
    reason = ReasonCode.INSTALL_FAILED
    return Failure(row, Phase.ARCHAEOLOGY, reason, message, [obstacle], log, PLACE, "FROM debian\n", ["pytest"])


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (PYTEST, "no test passes (1 ran): ModuleNotFoundError: No module named 'x'"),
        ("make ended with 2:\ncc -c a.c\na.c:3:1: error: unknown type\nmake: *** [all] Error 1", "a.c:3:1: error: unknown type"),
        ("it failed:\n\nnpm error code ERESOLVE\nnpm error could not", "it failed: npm error could not"),
        ("timed out after 900 s\nsome output", "timed out after 900 s"),
        ("ended with 1:\nwhy\nbecause", "ended with 1: because"),
        ("", ""),
        ("x" * 5000, "x" * 300),
    ],
)  # fmt: skip
def test_headlines(message: str, said: str) -> None:
    assert headline(message).endswith(said)
    assert len(headline(message)) <= 300


def test_what_a_person_reads() -> None:
    log = "".join(f"line {number}\n\n" for number in range(100)) + "x" * 900
    text = markdown(failure(log=log))
    assert text.startswith("# archaeology failed: `install_failed`\n\n`no test passes (1 ran): ModuleNotFoundError")
    assert f"[The whole log]({PLACE.url})" in text and f"`{PLACE.command}`" in text
    assert "1. `it did not` → `left out`, **not resolved**" in text
    assert "... 76 lines before\nline 76\n" in text and "line 75\n" not in text
    assert f"{'x' * 400} ...\n```" in text
    assert "```\nFROM debian\n\n```" in text and f"`envmill run --retry archaeology {CANDIDATE}`" in text
    said = plain(failure())
    assert all(
        part in said for part in (PLACE.url, PLACE.uri, PLACE.command, "1. it did not -> left out (not resolved)")
    )
    assert tail("") == ""


hostile = st.text(alphabet="`~|<>[]()!*_#\\&\r\n \t\x1b[31m\x00\u202ehttps://e.example/x", max_size=60)
FENCE = re.compile(r"^(`{3,})\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


@given(hostile, hostile, hostile)
def test_hostile_text_stays_in_code(message: str, symptom: str, log: str) -> None:
    """Taking code blocks, then code spans away leaves what envmill itself wrote."""
    page = markdown(failure(message, symptom=symptom, log=log))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", page)
    ours = SPAN.sub("", FENCE.sub("", page)).replace(f"[The whole log]({PLACE.url})", "")
    assert not set("<[]!|~&\\") & set(ours)
    assert "example" not in ours
    for row in rows(failure(symptom=symptom).obstacles):
        lines = str(row["what stood in the way"]).splitlines()
        assert len(lines) <= 6
        assert all(SPAN.fullmatch(line) for line in lines)


def committed(lake: FileStore, log: str, *, key: str = "ab12") -> str:
    """A failed phase run with a log; the log's key."""
    writer = PhaseWriter(lake, PhaseKey(candidate_id=CANDIDATE, phase=Phase.ARCHAEOLOGY, input_key=key))
    writer.object("archaeology.log", log)
    writer.object("recipe.json", "{}")
    commit_phase(writer, Outcome.FAILED, ReasonCode.INSTALL_FAILED, "no")
    return f"{writer.key.prefix}archaeology.log"


def test_logs_over_http(tmp_path: Path) -> None:
    """Only logs, only as text, only for this machine."""
    lake = FileStore(tmp_path)
    key = committed(lake, "<script>alert(1)</script> \N{SNOWMAN}\n")

    with serving_logs(lambda: lake, 0) as port:

        def ask(path: str, host: str = "", method: str = "GET") -> tuple[int, str, http.client.HTTPMessage]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request(method, path, headers={"Host": host or f"127.0.0.1:{port}"})
            answer = connection.getresponse()
            said = answer.status, answer.read().decode(), answer.headers
            connection.close()
            return said

        status, text, headers = ask(f"/{key}")
        assert (status, text) == (200, "<script>alert(1)</script> \N{SNOWMAN}\n")
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        assert (headers["X-Content-Type-Options"], "sandbox" in headers["Content-Security-Policy"]) == ("nosniff", True)
        assert ask(f"/{key}", "localhost:4201")[0] == 200
        assert {ask(f"/{key}", host)[0] for host in ("evil.example", "127.0.0.1.evil.example", "[")} == {403}
        assert ask(f"/{key}", method="POST")[0] == 501
        folder = key.rpartition("/")[0]
        for path in ("/", f"/{folder}/recipe.json", f"/{folder}/manifest.json", f"/{folder}/../ab12/archaeology.log"):
            assert ask(path)[0] == 404, path
        status, text, _ = ask(f"/{folder}/build.log")
        assert (status, text) == (404, "No such log; its candidate may have been withdrawn.\n")
        with (
            pytest.raises(ServiceMissingError, match=f"port {port}.*ENVMILL_LOG_URL"),
            serving_logs(lambda: lake, port),
        ):
            raise AssertionError


def test_the_last_log(tmp_path: Path) -> None:
    lake = FileStore(tmp_path)
    committed(lake, "first", key="ff00")
    committed(lake, "second", key="aa00")
    assert last_log(lake, CANDIDATE, "archaeology") == b"second"
    with pytest.raises(UsageError, match="no log of containerize"):
        last_log(lake, CANDIDATE, "containerize")
    with pytest.raises(UsageError, match="is no phase"):
        last_log(lake, CANDIDATE, "../x")


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://127.0.0.1:4201", 4201), ("http://localhost:99/", 99), ("https://logs.example.org/lake", None)],
)
def test_who_serves_logs(url: str, port: int | None) -> None:
    assert local_port(url) == port
