"""Any S3 server through boto3, with a custom endpoint and path-style addresses.

The commit protocol rests on conditional writes. A server that ignores their headers would overwrite manifests without a
word, so `S3Store.open` tries both conditions on objects of its own before anything else is done.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

from blocks.errors import EnvmillError, PermanentError, TransientError, UsageError
from blocks.lake.file import replaced
from blocks.lake.s3_faults import error_code, faults, http_status, unreachable
from blocks.lake.store import ObjectInfo, ObjectMissingError, checked_key, checked_prefix
from blocks.settings import S3Settings

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_TRANSFER = TransferConfig(multipart_threshold=16 << 20, multipart_chunksize=16 << 20, max_concurrency=4)
_CONFLICT_TRIES = 6


class S3Store:
    """Objects below `s3://bucket/prefix`. Safe to share between threads."""

    def __init__(self, bucket: str, prefix: str, client: "S3Client") -> None:
        self.bucket = bucket
        self.prefix = f"{checked_key(prefix)}/" if prefix else ""
        self.client = client

    @classmethod
    def open(cls, bucket: str, prefix: str, settings: S3Settings) -> "S3Store":
        """Connect, and prove that the server keeps the promises the lake rests on.

        Raises:
            ServiceMissingError: nothing answers at the endpoint.
            PermanentError: bucket missing, credentials refused, or conditional writes ignored.
        """
        store = cls(bucket, prefix, s3_client(settings))
        try:
            with faults(f"s3://{bucket}"):
                _bucket_exists(store.client, bucket)
            _probe(store)
        except EnvmillError as error:
            raise unreachable(error) from error
        return store

    def uri(self, key: str) -> str:
        """An `s3://` address."""
        return f"s3://{self.bucket}/{self._full(key)}"

    def get(self, key: str) -> bytes:
        """The whole content. Raises ObjectMissingError."""
        with faults(self.uri(key)):
            return self.client.get_object(Bucket=self.bucket, Key=self._full(key))["Body"].read()

    def download(self, key: str, target: Path) -> None:
        """Write the content to a local file, streaming, whole or not at all. Raises ObjectMissingError."""
        with faults(self.uri(key)), replaced(target) as temporary, temporary.open("wb") as stream:
            self.client.download_fileobj(self.bucket, self._full(key), stream, Config=_TRANSFER)

    def head(self, key: str) -> ObjectInfo | None:
        """What is known about the object, or None where there is none."""
        try:
            with faults(self.uri(key)):
                found = self.client.head_object(Bucket=self.bucket, Key=self._full(key))
        except ObjectMissingError:
            return None
        return ObjectInfo(key=key, size_bytes=found["ContentLength"], etag=found["ETag"])

    def put(self, key: str, content: bytes | Path) -> None:
        """Write or overwrite. A path is streamed, in parts where it is large."""
        with faults(self.uri(key)):
            if isinstance(content, bytes):
                self.client.put_object(Bucket=self.bucket, Key=self._full(key), Body=content)
                return
            if not content.is_file():
                raise PermanentError(f"{content}: no such file to be stored as {key}")
            with content.open("rb") as stream:
                self.client.upload_fileobj(stream, self.bucket, self._full(key), Config=_TRANSFER)

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write only where nothing is (If-None-Match: *). False where something is."""
        full = self._full(key)
        return self._conditional(
            key, content, lambda: self.client.put_object(Bucket=self.bucket, Key=full, Body=content, IfNoneMatch="*")
        )

    def put_if_match(self, key: str, content: bytes, etag: str) -> bool:
        """Overwrite only the version with this etag (If-Match). False where it has changed or gone."""
        full = self._full(key)
        return self._conditional(
            key, content, lambda: self.client.put_object(Bucket=self.bucket, Key=full, Body=content, IfMatch=etag)
        )

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object below the prefix, in order of keys (as UTF-8 bytes).

        Sorted here: servers that keep a tree (SeaweedFS) list `x/a` before `x-b`.
        """
        full = self.prefix + checked_prefix(prefix)
        found = []
        with faults(f"s3://{self.bucket}/{full}"):
            for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=full):
                found += [
                    ObjectInfo(key=item["Key"].removeprefix(self.prefix), size_bytes=item["Size"], etag=item["ETag"])
                    for item in page.get("Contents", [])
                ]
        yield from sorted(found, key=lambda info: info.key.encode())

    def delete(self, key: str) -> None:
        """Remove; nothing happens where there is none."""
        with faults(self.uri(key)):
            self.client.delete_object(Bucket=self.bucket, Key=self._full(key))

    def _full(self, key: str) -> str:
        return self.prefix + checked_key(key)

    def _conditional(self, key: str, content: bytes, write: Callable[[], object]) -> bool:
        for attempt in range(_CONFLICT_TRIES):
            with faults(self.uri(key)):
                try:
                    write()
                    return True
                except ClientError as error:
                    if http_status(error) == 412:
                        # After a retry inside botocore the condition may fail because our own first try got through.
                        retried = int(error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0)) > 0
                        return retried and self._holds(key, content)
                    if http_status(error) == 404 and error_code(error) != "NoSuchBucket":
                        return False
                    if http_status(error) != 409:
                        raise
            time.sleep(0.05 * 2**attempt)
        raise TransientError(f"{self.uri(key)}: other writers were in the way {_CONFLICT_TRIES} times; run again")

    def _holds(self, key: str, content: bytes) -> bool:
        try:
            return self.get(key) == content
        except ObjectMissingError:
            return False


def s3_client(settings: S3Settings) -> "S3Client":
    """A client as the settings say; what they leave out follows boto3's own rules.

    Raises:
        UsageError: the endpoint is no URL.
    """
    secret = settings.secret_access_key
    key = settings.access_key_id
    config = Config(
        s3={"addressing_style": "path"},
        retries={"mode": "standard", "total_max_attempts": 5},
        connect_timeout=10,
        read_timeout=60,
        max_pool_connections=16,
        # Checksum trailers are not understood by every server that speaks S3; manifests carry sha256 of every file.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    try:
        return boto3.session.Session().client(
            "s3",
            endpoint_url=settings.endpoint_url,
            region_name=settings.region or ("us-east-1" if settings.endpoint_url else None),
            aws_access_key_id=key.get_secret_value() if key else None,
            aws_secret_access_key=secret.get_secret_value() if secret else None,
            config=config,
        )
    except ValueError as error:
        raise UsageError("ENVMILL_S3__ENDPOINT_URL is not a URL such as https://host:port; correct it") from error


def _bucket_exists(client: "S3Client", bucket: str) -> None:
    try:
        client.head_bucket(Bucket=bucket)
    except ClientError as error:
        if http_status(error) == 404:
            raise PermanentError(
                f"s3://{bucket}: there is no such bucket; create it or correct ENVMILL_LAKE"
            ) from error
        raise


def _probe(store: S3Store) -> None:
    """Prove that both conditions are obeyed.

    Raises:
        PermanentError: a write went through that its condition forbids, or one failed that it allows.
    """
    key = f"probes/{secrets.token_hex(16)}"
    try:
        created = store.put_if_absent(key, b"1")
        kept = not store.put_if_absent(key, b"2")
        found = store.head(key)
        refused = not store.put_if_match(key, b"3", '"00000000000000000000000000000000"')
        replaced_once = found is not None and store.put_if_match(key, b"4", found.etag)
        replaced_twice = found is not None and store.put_if_match(key, b"5", found.etag)
        content = store.get(key)
    finally:
        store.delete(key)
    if not (created and kept and refused and replaced_once and not replaced_twice and content == b"4"):
        raise PermanentError(
            f"s3://{store.bucket}: the server does not obey conditional writes (If-None-Match, If-Match), which commits "
            "and leases rest on; use a server that does (AWS S3, SeaweedFS 4.48, a recent MinIO) or a file:// lake"
        )
