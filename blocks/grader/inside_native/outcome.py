"""What a test program said about itself, case by case, whatever framework it is made with."""

from __future__ import annotations

from dataclasses import dataclass

from .workshop import Done

ABORT = -6


@dataclass(frozen=True)
class Case:
    """One test. `status` is passed, failed or skipped; the words of blocks.vectors."""

    name: str
    status: str
    kind: str | None = None
    detail: str = ""
    seconds: float = 0.0


def of_exit(name: str, done: Done, *, skip_code: int | None = 77) -> Case:
    """A plain program: 0 has passed, 77 (automake's word for it) was skipped, all else has failed.

    A program that gives up by itself, by its exit code or by abort() as assert() does, made an assertion; one that the
    system ended (SIGSEGV and the like) had an error.
    """
    if done.timed_out:
        return Case(name, "failed", "timeout", "the test's time was up", done.seconds)
    if done.code is None:
        return Case(name, "failed", "compile", done.output[:300], done.seconds)
    if done.code == 0:
        return Case(name, "passed", None, "", done.seconds)
    if skip_code is not None and done.code == skip_code:
        return Case(name, "skipped", None, "", done.seconds)
    own = done.code > 0 or done.code == ABORT
    return Case(name, "failed", "assertion" if own else "error", ended_with(done.code), done.seconds)


def ended_with(code: int) -> str:
    """In words."""
    return f"ended with {code}" if code >= 0 else f"ended by signal {-code}"


def kind_of_message(message: str) -> str:
    """Assertion, unless the framework's own words say that an exception nobody expected came out."""
    if "throws a different type" in message or ("it throws nothing" in message and "throws an exception" in message):
        return "wrong_exception"
    if message.startswith(("C++ exception with description", "Unknown C++ exception", "unknown file\nC++ exception")):
        return "error"
    return "assertion"
