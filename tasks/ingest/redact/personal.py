"""Personal details in one text: users of home paths and prompts, hosts, mail addresses, phone numbers, addresses."""

import ipaddress
import re
from collections.abc import Iterator

from tasks.ingest.redact.rules import Rules
from tasks.ingest.redact.scanner import Finding

_IPV4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[23][0-9a-fA-F]{3}:(?:[0-9a-fA-F]{0,4}:){1,6}[0-9a-fA-F]{0,4}(?![\w:])")
_PASSWORD_BEFORE = re.compile(r"://[^\s/@]{0,128}:$")
"""What follows is the password of an address, not a mail address."""
_VERSION_BEFORE = re.compile(
    r"(?i)(?:\bv|version\w{0,10}|release|build|[=<>~^!]=|\brev|section|chapter|python)[\s\"':=]{0,4}$"
)


def find_personal(text: str, rules: Rules) -> list[Finding]:
    """Each detail, with its kind as rule. A generic account or host names nobody and is left out."""
    found: list[Finding] = []
    for rule in rules.personal:
        for match in rule.pattern.finditer(text):
            value = match["value"]
            if rule.kind in ("user", "host") and _names_nobody(value, rules):
                continue
            if rule.kind == "mail" and _PASSWORD_BEFORE.search(text[max(0, match.start() - 200) : match.start()]):
                continue
            found.append(Finding(rule=rule.kind, value=value, context=_around(match)))
    found.extend(Finding(rule="ip", value=value, context=value) for value in _addresses(text, rules))
    return found


def _around(match: re.Match[str]) -> str:
    """From the start of the match to the end of its value: what stays is what follows."""
    return match.string[match.start() : match.end("value")]


def _names_nobody(value: str, rules: Rules) -> bool:
    return value.casefold().strip(".") in rules.words.generic or not re.search(r"[A-Za-z]", value)


def _addresses(text: str, rules: Rules) -> Iterator[str]:
    for match in _IPV4.finditer(text):
        if _is_version(match):
            continue
        try:
            address = ipaddress.IPv4Address(match[0])
        except ValueError:
            continue
        if not any(address in network for network in rules.addresses.keep):
            yield match[0]
    for match in _IPV6.finditer(text):
        try:
            ipaddress.IPv6Address(match[0])
        except ValueError:
            continue
        yield match[0]


def _is_version(match: re.Match[str]) -> bool:
    """Whether four numbers are a version: so called before them, or all small and not where an address stands."""
    before, after = match.string[max(0, match.start() - 24) : match.start()], match.string[match.end() :][:2]
    if _VERSION_BEFORE.search(before):
        return True
    return all(int(part) < 32 for part in match[0].split(".")) and not (
        before.endswith(("@", "//")) or after[:1] == ":"
    )
