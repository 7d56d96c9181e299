"""Reads what the plugin wrote (see inside/plugin.py), as hostile input, and tells how each test ended.

- A test has passed when its call phase passed, no phase and no subtest of it ended otherwise, and it was finished.
- xfailed is `skipped`, so not passed; a non-strict xpass is `passed`; a strict one `failed`.
- A rerun (pytest-rerunfailures) counts as a failure: an id that needs a second try has failed.
- Of several results for one id the worst counts: failed, skipped, passed.
- A test that was begun and not finished has failed: kind `timeout` if the run was out of time, else `error`.
- An id without `::` is a file: `failed` if it could not be collected, then it is also in `collection_errors`; `skipped` if it
  asked to be left out while it was collected. The detail of what was skipped is the reason.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

MAX_IDS = 200_000
ENDS = frozenset({0, 1, 5})
"""pytest's exit codes of a session that went through: all passed, some failed, nothing collected."""

_RANK = {"passed": 0, "skipped": 1, "failed": 2}
_KINDS = frozenset(
    {"assertion", "wrong_exception", "missing_name", "import", "collection", "setup", "error", "absent", "timeout"}
    | {"compile"}
)


@dataclass(frozen=True)
class TestOutcome:
    """How one test ended; the fields of blocks.vectors.TestResult."""

    __test__ = False
    status: str
    failure_kind: str | None = None
    seconds: float = 0.0
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """What a run reported."""

    results: dict[str, TestOutcome]
    collection_errors: tuple[str, ...] = ()
    exit_code: int | None = None
    """pytest's exit code from the end record; None where that never came."""
    faults: tuple[str, ...] = ()
    """What the plugin cannot have written. Not empty: someone else wrote into the channel."""

    @property
    def ended(self) -> bool:
        """Whether the session went through and nobody else wrote into the channel."""
        return self.exit_code in ENDS and not self.faults


@dataclass
class _Test:
    status: str = "passed"
    kind: str | None = None
    detail: str = ""
    seconds: float = 0.0
    called: bool = False
    running: bool = True

    def worsen(self, status: str, kind: str | None, detail: str) -> None:
        if _RANK[status] > _RANK[self.status]:
            self.status, self.kind, self.detail = status, kind, detail


@dataclass
class _Reader:
    tests: dict[str, _Test] = field(default_factory=dict)
    broken: dict[str, TestOutcome] = field(default_factory=dict)
    omitted: dict[str, TestOutcome] = field(default_factory=dict)
    exit_code: int | None = None

    def take(self, record: dict[str, Any]) -> None:
        event = record["event"]
        if self.exit_code is not None:
            raise ValueError("a record after the end record")
        if event == "end":
            self.exit_code = int(record["exit_code"])
            return
        test_id = clean(record["id"])
        if event == "collect":
            kind, detail = _why(record)
            self.broken[test_id or "."] = TestOutcome("failed", kind, 0.0, detail)
            return
        if event == "omit":
            self.omitted[test_id or "."] = TestOutcome("skipped", None, 0.0, clean(record["detail"])[:300])
            return
        if len(self.tests) >= MAX_IDS:
            raise ValueError("too many tests")
        if event == "start":
            self.tests.setdefault(test_id, _Test()).running = True
        elif event == "finish":
            self.tests[test_id].running = False
        elif event == "phase":
            self._phase(self.tests[test_id], record)
        else:
            raise ValueError("an unknown event")

    def _phase(self, test: _Test, record: dict[str, Any]) -> None:
        outcome = record["outcome"]
        kind, detail = _why(record)
        test.seconds += max(0.0, float(record["seconds"]))
        if record["phase"] == "call":
            test.called = True
        if outcome == "rerun":
            test.worsen("failed", kind or "error", "rerun: " + detail)
        elif outcome == "failed":
            test.worsen("failed", kind or "error", detail)
        elif outcome == "skipped":
            test.worsen("skipped", None, "xfailed" if record["xfail"] else detail)
        elif outcome != "passed":
            raise ValueError("an unknown outcome")


def read_report(data: bytes, nonce: str, *, timed_out: bool) -> Report:
    """Read the channel's bytes; never raises, whatever is in them. A last line without an end is left out."""
    reader = _Reader()
    faults: list[str] = []
    prefix = nonce.encode("ascii") + b" "
    lines = data.split(b"\n")
    for line in lines[:-1]:
        if not line.startswith(prefix):
            faults.append("a line without the nonce")
            break
        try:
            reader.take(json.loads(line[len(prefix) :]))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            faults.append(f"a record that is none: {type(error).__name__}")
            break
    if lines[-1] and not (prefix.startswith(lines[-1]) or lines[-1].startswith(prefix)):
        faults.append("a last line without the nonce")
    results = {test_id: _outcome(test, timed_out=timed_out) for test_id, test in reader.tests.items()}
    for test_id, whole in (*reader.broken.items(), *reader.omitted.items()):
        results.setdefault(test_id, whole)
    errors = sorted({test_id.partition("::")[0] for test_id in reader.broken})
    return Report(results, tuple(errors), reader.exit_code, tuple(faults))


def as_json(results: dict[str, TestOutcome]) -> dict[str, dict[str, object]]:
    """The `results` of a vector."""
    return {test_id: asdict(result) for test_id, result in results.items()}


def clean(text: object) -> str:
    """A text of the subject's as one that every JSON reader takes: no lone surrogates.

    Raises:
        TypeError: not a text.
    """
    if not isinstance(text, str):
        raise TypeError("not a text")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _outcome(test: _Test, *, timed_out: bool) -> TestOutcome:
    seconds = round(test.seconds, 6)
    if test.running:
        kind, detail = ("timeout", "the time was up") if timed_out else ("error", "the process ended in this test")
        return TestOutcome("failed", kind, seconds, detail)
    if test.status == "passed" and not test.called:
        return TestOutcome("failed", "error", seconds, "its call phase was never reported")
    return TestOutcome(test.status, test.kind, seconds, test.detail)


def _why(record: dict[str, Any]) -> tuple[str | None, str]:
    kind = record["kind"]
    if kind is not None and kind not in _KINDS:
        raise ValueError("an unknown failure kind")
    return kind, clean(record["detail"])[:300]
