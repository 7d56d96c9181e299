"""What botocore raises, as the errors of the protocol: transient, permanent with the setting to mend, or missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    CredentialRetrievalError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    SSLError,
)

from blocks.errors import EnvmillError, PermanentError, ServiceMissingError, TransientError
from blocks.lake.store import ObjectMissingError

_CREDENTIALS = {
    "AccessDenied",
    "AccountProblem",
    "AllAccessDisabled",
    "ExpiredToken",
    "Forbidden",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "401",
    "403",
}
_REGION = {"AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect", "301"}
_TRANSIENT = {
    "ConditionalRequestConflict",
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "RequestTimeTooSkewed",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "TooManyRequests",
}
_MISSING = {"NoSuchKey", "404", "NotFound"}


def error_code(error: ClientError) -> str:
    """The code the server gave, e.g. `NoSuchKey`; of a HEAD it is the HTTP status as text."""
    return str(error.response.get("Error", {}).get("Code", ""))


def http_status(error: ClientError) -> int:
    """The HTTP status of the answer, 0 where there is none."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


@contextmanager
def faults(uri: str) -> Iterator[None]:
    """Everything botocore raises inside becomes an error of ours that names `uri`."""
    try:
        yield
    except ClientError as error:
        raise _answered(uri, error) from error
    except SSLError as error:
        raise PermanentError(f"{uri}: the TLS certificate is not trusted; set AWS_CA_BUNDLE to your CA file") from error
    except EndpointConnectionError as error:
        raise TransientError(f"{uri}: nothing answers; is ENVMILL_S3__ENDPOINT_URL right and the server up?") from error
    except (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError) as error:
        raise PermanentError(
            f"{uri}: no credentials; set ENVMILL_S3__ACCESS_KEY_ID and ENVMILL_S3__SECRET_ACCESS_KEY, or log in with AWS"
        ) from error
    except NoRegionError as error:
        raise PermanentError(f"{uri}: no region; set ENVMILL_S3__REGION") from error
    except (ConnectionError, HTTPClientError) as error:
        raise TransientError(f"{uri}: the connection broke ({type(error).__name__}); run again") from error
    except BotoCoreError as error:
        raise PermanentError(f"{uri}: the S3 client refused ({error}); see the ENVMILL_S3__ settings") from error


def unreachable(error: EnvmillError) -> EnvmillError:
    """At the start of a run a store that does not answer is a missing service, not something to retry."""
    return ServiceMissingError(str(error)) if isinstance(error, TransientError) else error


def _answered(uri: str, error: ClientError) -> EnvmillError:
    code, status = error_code(error), http_status(error)
    if code == "NoSuchBucket":
        return PermanentError(f"{uri}: there is no such bucket; create it or correct ENVMILL_LAKE")
    if code in _MISSING:
        return ObjectMissingError(f"{uri}: no such object")
    if code in _CREDENTIALS or status in (401, 403):
        return PermanentError(
            f"{uri}: the credentials are refused ({code}); see ENVMILL_S3__ACCESS_KEY_ID and "
            "ENVMILL_S3__SECRET_ACCESS_KEY and what they may do"
        )
    if code in _REGION:
        return PermanentError(f"{uri}: wrong region or endpoint ({code}); see ENVMILL_S3__REGION and __ENDPOINT_URL")
    if code in _TRANSIENT or status >= 500 or status == 429:
        return TransientError(f"{uri}: the store is busy ({code or status}); run again")
    return PermanentError(f"{uri}: the store refused ({code or status}); see the ENVMILL_S3__ settings")
