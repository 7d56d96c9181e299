"""From the settings to a store."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from blocks.errors import UsageError
from blocks.lake.file import FileStore
from blocks.lake.store import ObjectStore
from blocks.settings import Settings


def open_store(settings: Settings) -> ObjectStore:
    """The store `settings.lake_url` names, ready to use.

    Raises:
        UsageError: not a `file:///absolute/path` or `s3://bucket/prefix` address.
        ServiceMissingError: the S3 server does not answer.
        PermanentError: the bucket is missing, credentials are refused, or the server ignores conditional writes.
    """
    return open_store_at(settings.lake_url, settings, setting="ENVMILL_LAKE")


def open_store_at(address: str, settings: Settings, *, setting: str = "ENVMILL_INBOX") -> ObjectStore:
    """The store at an address; raises as `open_store` does. Messages name the `setting` the address comes from."""
    parts = urlsplit(address)
    if parts.query or parts.fragment:
        raise UsageError(f"{setting}: an address with `?` or `#` is not understood; percent-encode them")
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
        return FileStore(Path(unquote(parts.path)))
    if parts.scheme == "s3" and parts.netloc:
        # Imported here: boto3 takes a third of a second that a file lake need not spend.
        from blocks.lake.s3 import S3Store

        return S3Store.open(parts.netloc, parts.path.strip("/"), settings.s3)
    raise UsageError(f"{setting}: {address!r} is neither file:///absolute/path nor s3://bucket/prefix")
