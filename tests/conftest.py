"""Fixtures that all tests share."""

from tests.s3server import s3_server

__all__ = ["s3_server"]
