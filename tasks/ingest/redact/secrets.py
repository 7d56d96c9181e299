"""Secrets in one text: the scanner and the secret rules, over the text as it stands and over what it encodes."""

import base64
import binascii
import re
from collections.abc import Iterator
from urllib.parse import unquote

from tasks.ingest.redact.placeholders import PLACEHOLDER, escape
from tasks.ingest.redact.rules import Rules, SecretRule
from tasks.ingest.redact.scanner import Finding, SecretScanner

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{20,20000}={0,2}(?![A-Za-z0-9+/_=-])")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}){20,4000}(?![0-9A-Za-z])")
_ESCAPES = re.compile(r'\\(["\\/nrt]|u00[2-7][0-9a-fA-F])')
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_NAME = re.compile(r"[a-z_]{0,40}(?:password|passwd|secret|token|api_?key|_key)[a-z_]{0,40}")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{16,}")
_CODE = re.compile(
    r"^[${<%*\[&|]|^-----BEGIN|\(|^[xX*.•-]+$|\.(?:get|env|environ)\b|^(?:self|os|process|config|settings)\."
)


def find_secrets(text: str, rules: Rules, scanner: SecretScanner) -> list[Finding]:
    """Every secret in the text. Values stand for themselves; an encoded text that holds one is found whole.

    Raises:
        RefusedError: scanner_failed.
    """
    found: list[Finding] = []
    for view in views(text):
        found.extend(_scanned(view, rules, scanner))
        found.extend(_by_rules(view, rules))
    for blob, decoded in _encoded(text):
        if _scanned(decoded, rules, scanner) or any(_by_rules(decoded, rules)):
            found.append(Finding(rule="encoded-secret", value=blob, context=blob))
    return [piece for finding in found for piece in _pieces(finding, text)]


def visible(text: str) -> str:
    """The text with placeholders turned into line ends, so that no rule takes one for a value or reaches across it."""
    return PLACEHOLDER.sub("\n", text)


def encodes(text: str, values: list[str]) -> list[Finding]:
    """Encoded parts of the text that hold one of the values."""
    return [
        Finding(rule="encoded-secret", value=blob, context=blob)
        for blob, decoded in _encoded(text)
        if any(value in decoded for value in values)
    ]


def variants(value: str) -> list[str]:
    """How a value may also be written: with its quotes and line ends escaped once or twice, percent-encoded."""
    escaped = escape(value)
    quoted = "".join(c if c.isalnum() or c in "-._~" else "".join(f"%{byte:02X}" for byte in c.encode()) for c in value)
    return [form for form in dict.fromkeys((value, escaped, escape(escaped), quoted)) if form]


def views(text: str) -> Iterator[str]:
    """The text as it stands, and with its escapes and percent-encodings taken off."""
    yield text
    once = _unescape(text) if "\\" in text else text
    if once != text:
        yield once
        twice = _unescape(once)
        if twice != once:
            yield twice
    if "%" in text:
        plain = unquote(text, errors="replace").replace("\0", " ")
        if plain != text:
            yield plain


def _pieces(finding: Finding, text: str) -> list[Finding]:
    """The finding; where its value stands in no form in the text (it reaches across a placeholder), its lines."""
    if "\n" not in finding.value or any(form in text for form in variants(finding.value)):
        return [finding]
    lines = [line.strip() for line in finding.value.split("\n")]
    return [Finding(rule=finding.rule, value=line, context=line) for line in lines if len(line) >= 8]


def _scanned(text: str, rules: Rules, scanner: SecretScanner) -> list[Finding]:
    return [
        finding
        for finding in scanner.scan(text)
        if finding.rule not in rules.scanner.ignore
        and not (finding.rule in rules.scanner.check_for_code and _is_code(finding, rules))
    ]


def _is_code(finding: Finding, rules: Rules) -> bool:
    """Whether the value is a name or an expression, not a literal: known words, or `key_password=key_password`."""
    value = finding.value.strip("'\"<>[]{}")
    if value.casefold() in rules.words.not_secret or _CODE.search(value) or _NAME.fullmatch(value):
        return True
    return bool(re.fullmatch(r"[A-Za-z_]\w*", value)) and value in finding.context[: finding.context.rfind(value)]


def _by_rules(text: str, rules: Rules) -> Iterator[Finding]:
    for rule in rules.secret:
        for match in rule.pattern.finditer(text):
            value = match["value"] if "value" in rule.pattern.groupindex else match[0]
            if value and _counts(value, rule, rules):
                yield Finding(rule=rule.name, value=value, context=match[0].strip())
                if rule.name == "private-key":
                    for line in _KEY_LINE.findall(value):
                        yield Finding(rule=rule.name, value=line, context=line)


def _counts(value: str, rule: SecretRule, rules: Rules) -> bool:
    if len(value) < rule.min_length or value.casefold().strip("'\"<>[]{}") in rules.words.not_secret:
        return False
    if rule.mixed and not (re.search(r"[A-Za-z]", value) and re.search(r"[0-9]", value)):
        return False
    return rule.name == "private-key" or not (_CODE.search(value) or _NAME.fullmatch(value))


def _encoded(text: str) -> Iterator[tuple[str, str]]:
    """Base64 and hex parts that decode to text, with that text."""
    for match in _BASE64.finditer(text):
        body = match[0].rstrip("=").translate(str.maketrans("-_", "+/"))
        try:
            decoded = _printable(base64.b64decode(body + "=" * (-len(body) % 4)))
        except (binascii.Error, ValueError):
            continue
        if decoded:
            yield match[0], decoded
    for match in _HEX.finditer(text):
        decoded = _printable(bytes.fromhex(match[0]))
        if decoded:
            yield match[0], decoded


def _printable(content: bytes) -> str | None:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) >= 12 and all(c.isprintable() or c in "\n\r\t" for c in text) else None


def _unescape(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if code.startswith("u") else _ESCAPED.get(code, code)

    return _ESCAPES.sub(plain, text)
