"""For analysts: attach the snapshot where it lies in an S3 store, over DuckDB's httpfs extension."""

import importlib.util
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import duckdb

from blocks.catalog.snapshot import STORE_KEY
from blocks.errors import PermanentError, ServiceMissingError, UsageError
from blocks.schema import quoted
from blocks.settings import Settings


def load_httpfs(connection: duckdb.DuckDBPyConnection) -> str:
    """Load httpfs: one that is installed, else the PyPI wheel of this DuckDB version, else download it.

    Returns:
        Where it came from: `installed`, `wheel` or `downloaded`.

    Raises:
        ServiceMissingError: none of the three.
    """
    if _runs(connection, "LOAD httpfs"):
        return "installed"
    wheel = _wheel_file()
    if wheel is not None and _runs(connection, f"LOAD {_literal(str(wheel))}"):
        return "wheel"
    if _runs(connection, "INSTALL httpfs") and _runs(connection, "LOAD httpfs"):
        return "downloaded"
    raise ServiceMissingError(
        f"DuckDB {duckdb.__version__} has no httpfs; run `pip install duckdb-extension-httpfs=={duckdb.__version__}`"
    )


def attach_from_store(connection: duckdb.DuckDBPyConnection, settings: Settings, name: str = "envmill") -> None:
    """ATTACH the snapshot of an S3 lake read-only as `name`.

    Raises:
        UsageError: the lake is not an S3 one.
        ServiceMissingError: no httpfs.
        PermanentError: no snapshot there, or it cannot be read.
    """
    lake = urlsplit(settings.lake_url)
    if lake.scheme != "s3":
        raise UsageError(
            f"ENVMILL_LAKE is {lake.scheme}://; only a snapshot in an s3:// lake is attached over the network"
        )
    load_httpfs(connection)
    connection.execute(f"CREATE OR REPLACE SECRET envmill_lake ({', '.join(_secret(settings))})")
    address = f"s3://{lake.netloc}/{lake.path.strip('/')}".rstrip("/") + f"/{STORE_KEY}"
    try:
        connection.execute(f"ATTACH {_literal(address)} AS {quoted(name)} (READ_ONLY)")
    except duckdb.Error as error:
        raise PermanentError(
            f"{address}: cannot be attached; is it there (`envmill status`), are ENVMILL_S3__ right?"
        ) from error


def _secret(settings: Settings) -> list[str]:
    given = settings.s3
    parts = ["TYPE s3", "URL_STYLE 'path'"]
    if given.access_key_id and given.secret_access_key:
        parts += [f"KEY_ID {_literal(given.access_key_id.get_secret_value())}"]
        parts += [f"SECRET {_literal(given.secret_access_key.get_secret_value())}"]
    elif found := boto3.session.Session().get_credentials():
        frozen = found.get_frozen_credentials()
        parts += [f"KEY_ID {_literal(frozen.access_key or '')}", f"SECRET {_literal(frozen.secret_key or '')}"]
        parts += [f"SESSION_TOKEN {_literal(frozen.token)}"] if frozen.token else []
    if given.region:
        parts.append(f"REGION {_literal(given.region)}")
    if given.endpoint_url:
        endpoint = urlsplit(given.endpoint_url)
        parts.append(f"ENDPOINT {_literal(endpoint.netloc + endpoint.path.rstrip('/'))}")
        parts.append(f"USE_SSL {'true' if endpoint.scheme == 'https' else 'false'}")
    return parts


def _wheel_file() -> Path | None:
    spec = importlib.util.find_spec("duckdb_extension_httpfs")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        file = Path(folder) / "extensions" / f"v{duckdb.__version__}" / "httpfs.duckdb_extension"
        if file.is_file():
            return file
    return None


def _runs(connection: duckdb.DuckDBPyConnection, statement: str) -> bool:
    try:
        connection.execute(statement)
    except duckdb.Error:
        return False
    return True


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
