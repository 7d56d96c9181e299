"""The two kinds of error that cross a boundary. Domain outcomes (a rejection, a failed build) are values, not errors."""


class EnvmillError(Exception):
    """Anything envmill itself raises. The message names the thing, the fault and the mend, and holds no secret."""


class TransientError(EnvmillError):
    """Worth a retry: the network, a busy store or engine. Nothing is committed; the next run tries again."""


class PermanentError(EnvmillError):
    """A retry would fail the same way. The run fails and says why."""


class ServiceMissingError(PermanentError):
    """A needed service (container engine, object store, Prefect server) is not there. Exit code 3."""


class UsageError(PermanentError):
    """The caller asked for something that cannot be: wrong option, unknown id, invalid settings. Exit code 2."""


def is_transient(error: BaseException) -> bool:
    """Whether a task that raised `error` should be retried."""
    return isinstance(error, TransientError)
