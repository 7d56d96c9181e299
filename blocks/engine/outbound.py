"""What this machine fetches through: proxies, package indexes, extra certificates, Debian mirrors.

A fetch container gets the same, as variables of its commands and as files in memory, so that no image carries them.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from blocks.engine.debian import source_files
from blocks.engine.spec import SHARED_MEMORY, MemoryFile
from blocks.errors import UsageError
from blocks.settings import Settings

CA_TARGET = f"{SHARED_MEMORY}/envmill/ca.pem"

_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
_INDEXES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "PIP_DEFAULT_TIMEOUT",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_INSECURE_HOST",
    "UV_HTTP_TIMEOUT",
)
_CA_VARIABLES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


def fetch_environment(settings: Settings) -> tuple[dict[str, str], tuple[MemoryFile, ...]]:
    """Variables and files that a fetch container needs for pip, uv, npm and curl.

    Raises:
        UsageError: the configured bundle is not a file.
    """
    environment = {name: os.environ[name] for name in _INDEXES if _is_remote(os.environ.get(name, ""))}
    for name in _PROXIES:
        for variant in (name, name.upper()):
            if os.environ.get(variant):
                environment[variant] = os.environ[variant]
    bundle = ca_bundle(settings)
    if bundle is None:
        return environment, ()
    environment |= dict.fromkeys(_CA_VARIABLES, CA_TARGET)
    return environment, (MemoryFile(source=bundle, target=CA_TARGET),)


def ca_bundle(settings: Settings) -> Path | None:
    """The extra certificates of the fetch step, or None.

    Raises:
        UsageError: the configured bundle is not a file.
    """
    if settings.engine.ca_bundle is not None:
        if not settings.engine.ca_bundle.is_file():
            raise UsageError(
                f"ENVMILL_ENGINE__CA_BUNDLE names {settings.engine.ca_bundle}, which is not a file; correct it"
            )
        return settings.engine.ca_bundle.resolve()
    named = os.environ.get("SSL_CERT_FILE")
    return Path(named).resolve() if named and Path(named).is_file() else None


def probe_target() -> tuple[str, int] | None:
    """Host and port that this machine fetches from: its proxy, its package index, its Debian mirror; None: unknown."""
    return next(_targets(os.environ), None)


def _targets(environment: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    names = (
        "https_proxy",
        "HTTPS_PROXY",
        "http_proxy",
        "HTTP_PROXY",
        "UV_DEFAULT_INDEX",
        "UV_INDEX_URL",
        "PIP_INDEX_URL",
    )
    addresses = [environment[name] for name in names if environment.get(name)]
    for file in source_files():
        addresses += re.findall(r"https?://\S+", file.read_text(encoding="utf-8", errors="replace"))
    for address in addresses:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme in ("http", "https") and parts.hostname:
            yield parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _is_remote(value: str) -> bool:
    """A folder of this machine is not there in a container."""
    return bool(value) and not any(part.startswith(("/", "file:")) for part in value.split())
