"""One public identity per repository: `https://host/owner/name`, however it was written down."""

import ipaddress
import re
from urllib.parse import urlsplit

from blocks.errors import UsageError

_SCP_LIKE = re.compile(r"^(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9.-]+):(?!//)(?P<path>[^\s]+)$")
_SCHEMES = frozenset({"https", "http", "ssh", "git", "git+https", "git+ssh"})
_HOST = re.compile(r"^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$")
_SEGMENT = re.compile(r"^[A-Za-z0-9_~.][A-Za-z0-9_.~+-]*$")
_WEB_VIEWS = frozenset({"-", "tree", "blob", "commit", "commits", "issues", "pull", "pulls", "releases", "src", "wiki"})


def normalise(url: str) -> str:
    """The public identity of a repository: lower-case host, no credentials, no `.git`, no trailing slash.

    Understands https, http, ssh, git and scp-like addresses, an address without a scheme, and the address of a page of
    the repository's web view. Owner and name keep their case.

    Raises:
        UsageError: this is no address of a public repository (a local path, an address literal, a host without a
            domain, too few path segments). The message leaves out anything before an `@`.
    """
    text = url.strip()
    if any(mark.isspace() or not mark.isprintable() for mark in text):
        raise _refused(url, "it holds blanks or control characters")
    if "://" not in text:
        scp = _SCP_LIKE.match(text)
        text = f"ssh://{scp['host']}/{scp['path']}" if scp else f"https://{text}"
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").lower().rstrip("."), parts.port
    except ValueError:
        raise _refused(url, "it cannot be parsed") from None
    if parts.scheme.lower() not in _SCHEMES:
        raise _refused(url, "its scheme is not https, ssh or git")
    if parts.query:
        raise _refused(url, "it has a query")
    if not _HOST.match(host) or _is_address_literal(host):
        raise _refused(url, "its host is not a public domain name")
    segments = _segments(parts.path)
    if len(segments) < 2 or not all(_SEGMENT.match(segment) and segment != ".." for segment in segments):
        raise _refused(url, "its path is not owner/name")
    web_port = port if parts.scheme.lower() in ("https", "http") and port not in (None, 80, 443) else None
    return f"https://{host}{f':{web_port}' if web_port else ''}/{'/'.join(segments)}"


def _segments(path: str) -> list[str]:
    segments = [segment for segment in path.split("/") if segment]
    for position, segment in enumerate(segments):
        if position >= 2 and segment in _WEB_VIEWS:
            segments = segments[:position]
            break
    if segments:
        segments[-1] = segments[-1].removesuffix(".git")
    return segments


def _is_address_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.rpartition(".")[2].isdigit()
    return True


def _refused(url: str, fault: str) -> UsageError:
    shown = url.strip().rpartition("@")[2][:200]
    return UsageError(f"repository {shown!r}: {fault}; give a public address such as https://host/owner/name")
