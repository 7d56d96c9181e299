import json

from hypothesis import given
from hypothesis import strategies as st

from blocks.grader.report import read_report

NONCE = "ab" * 16


def channel(*records: dict[str, object], end: bool = True) -> bytes:
    told = [*records, {"event": "end", "exit_code": 0}] if end else records
    return b"".join(f"{NONCE} {json.dumps(record)}\n".encode() for record in told)


def run_of(test: str, *outcomes: str, finish: bool = True) -> list[dict[str, object]]:
    phases = ("setup", "call", "teardown")
    records: list[dict[str, object]] = [{"event": "start", "id": test}]
    for index, outcome in enumerate(outcomes):
        records.append(
            {"event": "phase", "id": test, "phase": phases[index], "outcome": outcome, "xfail": False}
            | {"seconds": 0.5, "kind": "error" if outcome == "failed" else None, "detail": "why"}
        )
    return [*records, {"event": "finish", "id": test}] if finish else records


@given(st.binary() | st.lists(st.binary()).map(lambda lines: b"\n".join(NONCE.encode() + b" " + x for x in lines)))
def test_no_bytes_make_it_raise_or_believe(data: bytes) -> None:
    report = read_report(data, NONCE, timed_out=False)
    assert not report.ended
    assert all(result.status == "failed" for result in report.results.values())


def test_worst_result_of_an_id_counts_in_any_order() -> None:
    passed, skipped = run_of("a::b", "passed", "passed", "passed"), run_of("a::b", "skipped", "passed")
    failed, rerun = run_of("a::b", "passed", "failed", "passed"), run_of("a::b", "passed", "rerun", "passed")
    for first, second, status in (
        (passed, passed, "passed"),
        (passed, skipped, "skipped"),
        (skipped, failed, "failed"),
        (rerun, passed, "failed"),
    ):
        for order in ((first, second), (second, first)):
            report = read_report(channel(*order[0], *order[1]), NONCE, timed_out=False)
            assert report.ended and report.results["a::b"].status == status


def test_only_a_whole_test_has_passed() -> None:
    for records in (
        run_of("a::b", "passed"),
        run_of("a::b", "passed", "passed", finish=False),
        run_of("a::b", "passed", "passed", "failed"),
    ):
        assert read_report(channel(*records), NONCE, timed_out=False).results["a::b"].status == "failed"


def test_only_our_own_whole_report_ends() -> None:
    good = channel(*run_of("a::b", "passed", "passed", "passed"))
    assert read_report(good, NONCE, timed_out=False).ended
    for bad in (
        channel(*run_of("a::b", "passed", "passed", "passed"), end=False),
        good[:-1],
        good + b"x",
        b"noise\n" + good,
        good.replace(NONCE.encode(), b"0" * 32, 1),
        good + channel(),
        channel({"event": "end", "exit_code": 2}, end=False),
        channel({"event": "phase", "id": "never::begun"}),
        channel({"event": "start", "id": 5}),
        channel({"event": "end", "exit_code": "x"}, end=False),
        f"{NONCE} {'[' * 100_000}\n".encode() + good,
    ):
        assert not read_report(bad, NONCE, timed_out=False).ended, bad[:200]
