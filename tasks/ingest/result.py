"""What becomes of one contribution: candidates, or the reasons why not. Both are values; nothing is raised for bad input."""

from blocks.errors import PermanentError
from blocks.records import CandidateRow, ReasonCode, Record, RedactionRow
from blocks.session import Session


class Refusal(Record):
    """Why a contribution, or one session of it, is not taken. The message names the thing, the fault and the mend."""

    reason_code: ReasonCode
    message: str
    session_id: str | None = None
    """The session that was refused; None where the whole contribution was."""
    infrastructure: bool = False
    """The fault is ours (the scanner does not work), not the contribution's: nothing may be committed."""


class Candidate(Record):
    """A session that was let in, redacted, with its rows."""

    row: CandidateRow
    redactions: tuple[RedactionRow, ...]
    session: Session


class IngestResult(Record):
    """What one contribution gave. Several sessions of it are judged one by one."""

    contribution_id: str
    source: str | None
    """`cline` or `prompt`; None where it could not be told."""
    candidates: tuple[Candidate, ...] = ()
    refusals: tuple[Refusal, ...] = ()


class RefusedError(PermanentError):
    """Raised inside this phase to leave a contribution or session; turned into a `Refusal` at its boundary."""

    def __init__(self, reason_code: ReasonCode, message: str, *, infrastructure: bool = False) -> None:
        super().__init__(message)
        self.reason_code = reason_code
        self.infrastructure = infrastructure

    def refusal(self, session_id: str | None = None) -> Refusal:
        """The value this error stands for."""
        return Refusal(
            reason_code=self.reason_code,
            message=str(self),
            session_id=session_id,
            infrastructure=self.infrastructure,
        )
