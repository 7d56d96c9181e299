"""Traces of the machine that built an image: the extra certificates of its fetch step, its proxies and indexes."""

import re
from functools import cache
from pathlib import Path

from requests.utils import DEFAULT_CA_BUNDLE_PATH

from blocks.engine.outbound import ca_bundle
from blocks.settings import Settings

_PEM = re.compile(rb"-----BEGIN (?:TRUSTED )?CERTIFICATE-----([^-]+)-----END")
_DEBIAN = Path("/usr/share/ca-certificates/mozilla")
"""Where Debian keeps the public authorities, apart from what an administrator adds."""
_VARIABLES = re.compile(
    r"^(SSL_CERT_FILE|SSL_CERT_DIR|PIP_CERT|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|(https?|all|no)_proxy"
    r"|(PIP|UV)_(EXTRA_|DEFAULT_)?INDEX(_URL)?|npm_config_registry)=",
    re.I,
)


def extra_certificates(settings: Settings) -> frozenset[bytes]:
    """The certificates of the configured bundle that are not among the public ones; each as its base64 text."""
    bundle = ca_bundle(settings)
    return certificates(bundle.read_bytes()) - _public() if bundle else frozenset()


def certificates(content: bytes) -> frozenset[bytes]:
    """Every PEM certificate of a file, as base64 text without line breaks."""
    return frozenset(b"".join(found.split()) for found in _PEM.findall(content))


def holds_certificate(content: bytes, extra: frozenset[bytes]) -> bool:
    """Whether a file holds one of the certificates."""
    return bool(extra) and b"-----BEGIN" in content and not extra.isdisjoint(certificates(content))


def machine_variables(environment: list[str]) -> list[str]:
    """Names of variables, of `NAME=value` ones, that only a fetch container should have."""
    return [item.partition("=")[0] for item in environment if _VARIABLES.match(item)]


@cache
def _public() -> frozenset[bytes]:
    files = [Path(DEFAULT_CA_BUNDLE_PATH), *sorted(_DEBIAN.glob("*.crt"))]
    return frozenset().union(*(certificates(file.read_bytes()) for file in files if file.is_file()))
