"""Personal details in one text: users of home paths and prompts, hosts, mail addresses, phone numbers, addresses."""

import ipaddress
import re
from collections.abc import Iterator

from tasks.ingest.redact.placeholders import PLACEHOLDER
from tasks.ingest.redact.rules import Kind, Rules
from tasks.ingest.redact.scanner import Finding

_IPV4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[23][0-9a-fA-F]{3}:(?:[0-9a-fA-F]{0,4}:){1,6}[0-9a-fA-F]{0,4}(?![\w:])")
_VERSION_BEFORE = re.compile(r"(?i)(?:\bv|version|release|build|[=<>~^!]=|\brev)[\s\"':=]{0,4}$")


def find_personal(text: str, rules: Rules) -> list[tuple[Kind | str, Finding]]:
    """Kind and finding of each detail. A generic account or host names nobody and is left out."""
    found: list[tuple[Kind | str, Finding]] = []
    for rule in rules.personal:
        for match in rule.pattern.finditer(text):
            value = match["value"]
            if PLACEHOLDER.search(value) or (rule.kind in ("user", "host") and _names_nobody(value, rules)):
                continue
            found.append((rule.kind, Finding(rule=rule.kind, value=value, context=_around(match))))
    found.extend(("ip", Finding(rule="ip", value=value, context=value)) for value in _addresses(text, rules))
    return found


def _around(match: re.Match[str]) -> str:
    """From the start of the match to the end of its value: what stays is what follows."""
    return match.string[match.start() : match.end("value")]


def _names_nobody(value: str, rules: Rules) -> bool:
    return value.casefold().strip(".") in rules.words.generic or not re.search(r"[A-Za-z]", value)


def _addresses(text: str, rules: Rules) -> Iterator[str]:
    for match in _IPV4.finditer(text):
        if _VERSION_BEFORE.search(text[max(0, match.start() - 16) : match.start()]):
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
