"""Errors of the docker SDK as the two kinds envmill knows."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager

import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from urllib3.exceptions import HTTPError

from blocks.errors import PermanentError, TransientError


class ContainerEndedError(TransientError):
    """The container a call was for is not there any more."""


class EngineDiskFullError(PermanentError):
    """Nothing more can be written there. Says nothing about what was being built: the next run tries again."""


class ImageMissingError(PermanentError):
    """The engine has no image of this name."""


MAKE_ROOM = (
    'the engine\'s disk is full: remove images or make it larger (docs/operators.md, "the disk is full"), and run again'
)


def is_disk_full(said: str | bytes) -> bool:
    """Whether a text says so, in the words of the C library, or of Node.js."""
    text = said if isinstance(said, str) else said.decode("utf-8", "replace")
    return "No space left on device" in text or "no space left on device" in text or "ENOSPC" in text


@contextmanager
def engine_faults(what: str) -> Iterator[None]:
    """Raise what the SDK raises within as TransientError or PermanentError; `what` says what was being done."""
    try:
        yield
    except ImageNotFound as error:
        raise ImageMissingError(
            f"{what}: the engine has no such image ({_said(error)}); run `make setup`, "
            "or for an environment `envmill run --retry containerize ID`"
        ) from error
    except NotFound as error:
        raise ContainerEndedError(f"{what}: it is gone ({_said(error)})") from error
    except APIError as error:
        status = error.response.status_code if error.response is not None else 500
        if status == 409 and "not running" in _said(error):
            raise ContainerEndedError(f"{what}: the container has ended ({_said(error)})") from error
        said = f"{what}: the container engine answered {status}: {_said(error)}"
        if is_disk_full(said):
            raise EngineDiskFullError(f"{said}; {MAKE_ROOM}") from error
        kind = (
            TransientError
            if status in (408, 409, 423, 429) or (status >= 500 and not _is_final(error))
            else PermanentError
        )
        raise kind(said) from error
    except (requests.exceptions.RequestException, HTTPError, ConnectionError, TimeoutError) as error:
        raise TransientError(
            f"{what}: the container engine did not answer ({type(error).__name__}); try again"
        ) from error
    except tarfile.TarError as error:
        raise TransientError(f"{what}: what the container engine sent is broken off ({error}); try again") from error
    except DockerException as error:
        raise PermanentError(f"{what}: {error}") from error


def _said(error: APIError) -> str:
    return str(error.explanation or error)[:500]


def _is_final(error: APIError) -> bool:
    """The engine answers 500 also where a retry cannot help."""
    said = _said(error)
    return any(part in said for part in ("no such file or directory", "executable file not found", "unknown runtime"))
