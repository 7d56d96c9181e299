"""How asking a model can end without an answer. All of it becomes a verdict `unsure`; only a wrong setting ends a run."""

from enum import StrEnum

from blocks.errors import PermanentError, TransientError


class Fault(StrEnum):
    """Why there is no answer."""

    UNAVAILABLE = "unavailable"
    """No model answered within the tries: rate limits, faults of the server, timeouts, broken connections."""
    REFUSED = "refused"
    """The model, or its provider's filter, would not answer."""
    INVALID = "invalid"
    """What it said is no answer of the type that was asked for, also after it was told so once."""
    ENDLESS = "endless"
    """It went on calling tools until the limit of turns or bytes."""
    TOO_LONG = "too_long"
    """The conversation does not fit into the model."""
    BUDGET = "budget"
    """The next call might cost more than is left."""
    NOT_RECORDED = "not_recorded"
    """Answers are replayed, and there is none for this request."""


class NoAnswerError(PermanentError):
    """The conversation ends without an answer; `fault` says why."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class CallFailedError(TransientError):
    """One call came to nothing; another try may not."""

    def __init__(self, message: str, *, wait_sec: float | None = None, answered: bool = False) -> None:
        """Say what happened.

        Args:
            message: names the model and the fault, and nothing of what was sent or received.
            wait_sec: how long the provider asks to wait (Retry-After).
            answered: the provider itself refused with an HTTP status, so that nothing was billed. False where nobody
                knows: a timeout, a broken connection, an answer that cannot be read.
        """
        super().__init__(message)
        self.wait_sec = wait_sec
        self.answered = answered
