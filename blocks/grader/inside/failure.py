"""Why a test did not pass, told from the exception object, the phase and the frames; never from the text of a log.

Values are those of blocks.records.FailureKind. What is decided how:

- `setup`: the exception came out of the setup or teardown phase (fixtures, setUp and tearDown of a class or module),
  whatever its type. unittest's setUp and tearDown of a test case run inside pytest's call phase and count as call.
- `import`, `collection`: the exception came out of collection. `import` when it, or what caused it, is an ImportError;
  else `collection` (SyntaxError, a NameError at module level, ...).
- `timeout`: pytest-timeout raised it (the innermost frame is that module's).
- `assertion`: AssertionError, pytest.fail (so also DID NOT RAISE), a doctest that gave something else, a strict xfail
  that passed (no exception at all).
- `missing_name`: NameError (not UnboundLocalError), ImportError, or AttributeError, raised in the call phase. Not an
  AttributeError on None, where a value is wrong and no name missing; Python before 3.10 does not tell the object, so
  there it counts as missing_name. The message in the detail names the name.
- `wrong_exception`: any other exception that passed through `pytest.raises` or unittest's `assertRaises*`: a frame of
  the traceback stands inside such a `with` block (read from the source of that frame), or in the function form of
  `raises` itself.
- `error`: any other exception of the call phase.
"""

from __future__ import annotations

import ast
import doctest
import linecache
import traceback
from types import FrameType, TracebackType

import pytest

DETAIL_CHARS = 300
_RAISES = frozenset({"raises", "RaisesExc", "RaisesGroup", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp"})
_FUNCTION_FORMS = (("_pytest.python_api", "raises"), ("_pytest.raises", "raises"), ("unittest.case", "handle"))


def of_collection(error: BaseException) -> str:
    """The kind of a collection error."""
    cause: BaseException | None = error
    for _ in range(10):
        if isinstance(cause, ImportError):
            return "import"
        if cause is None:
            break
        cause = cause.__cause__
    return "collection"


def of_test(error: BaseException | None, phase: str) -> str:
    """The kind of a failed phase of a test; `phase` is setup, call or teardown."""
    if phase != "call":
        return "setup"
    if error is None:
        return "assertion"
    error = _doctest_cause(error)
    if _raised_by(error, "pytest_timeout"):
        return "timeout"
    if isinstance(error, (AssertionError, doctest.DocTestFailure, pytest.fail.Exception)):
        return "assertion"
    if _is_missing_name(error):
        return "missing_name"
    return "wrong_exception" if _passed_through_raises(error.__traceback__) else "error"


def detail_of(error: BaseException) -> str:
    """Type and first line of the message, cut to DETAIL_CHARS; of a collection error, of what caused it."""
    if type(error).__name__ == "CollectError" and error.__cause__ is not None:
        error = error.__cause__
    texts = traceback.format_exception_only(type(error), error)
    last = texts[-1] if isinstance(error, SyntaxError) else texts[0]
    return (last.strip().splitlines() or [""])[0][:DETAIL_CHARS]


def skip_reason(told: object) -> str:
    """Why something was skipped, of pytest's own (file, line, reason); cut to DETAIL_CHARS."""
    reason = told[2] if isinstance(told, tuple) and len(told) == 3 else told
    return (str(reason).removeprefix("Skipped: ").strip().splitlines() or [""])[0][:DETAIL_CHARS]


def _doctest_cause(error: BaseException) -> BaseException:
    failures = getattr(error, "failures", None)
    if type(error).__name__ == "MultipleDoctestFailures" and failures:
        error = failures[0]
    if isinstance(error, doctest.UnexpectedException):
        inner = error.exc_info[1]
        return inner if isinstance(inner, BaseException) else error
    return error


def _is_missing_name(error: BaseException) -> bool:
    if isinstance(error, AttributeError):
        return getattr(error, "obj", error) is not None
    return isinstance(error, ImportError) or (isinstance(error, NameError) and not isinstance(error, UnboundLocalError))


def _raised_by(error: BaseException, module: str) -> bool:
    frames = _frames(error.__traceback__)
    return any(frame.f_globals.get("__name__") == module for frame, _ in frames[-3:])


def _passed_through_raises(trace: TracebackType | None) -> bool:
    return any(_is_function_form(frame) or _stands_in_raises(frame, line) for frame, line in _frames(trace))


def _frames(trace: TracebackType | None) -> list[tuple[FrameType, int]]:
    frames = []
    while trace is not None:
        frames.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return frames


def _is_function_form(frame: FrameType) -> bool:
    return (frame.f_globals.get("__name__"), frame.f_code.co_name) in _FUNCTION_FORMS


def _stands_in_raises(frame: FrameType, line: int) -> bool:
    """Whether the frame's source has, around `line`, a `with` whose context is one of the raises helpers."""
    if not any("raises" in name.lower() for name in (*frame.f_code.co_names, *frame.f_code.co_varnames)):
        return False
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return any(
        isinstance(node, (ast.With, ast.AsyncWith))
        and node.body[0].lineno <= line <= (node.end_lineno or node.lineno)
        and any(_is_raises_call(item.context_expr) for item in node.items)
        for node in ast.walk(tree)
    )


def _is_raises_call(expression: ast.expr) -> bool:
    if not isinstance(expression, ast.Call):
        return False
    function = expression.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _RAISES
