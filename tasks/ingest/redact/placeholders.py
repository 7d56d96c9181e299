"""One table of values and placeholders for a whole contribution, and the replacing."""

import re
from collections import Counter

from blocks.records import Record

PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]+-\d+\]|<(?:user|host|mail|phone|name|ip)-\d+>")
_BOUNDED = frozenset({"user", "host", "name"})
PERSONAL = frozenset({"user", "host", "mail", "phone", "name", "ip"})


def escape(value: str) -> str:
    """The value as it stands inside a quoted string of JSON and the like."""
    return (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")
    )


def _escapings(part: str) -> tuple[str, str, str]:
    return part, escape(part), escape(escape(part))


def _bounded(value: str) -> str:
    """A short value counts only as a word of its own."""
    if len(value) >= 8:
        return re.escape(value)
    before = r"(?<![A-Za-z0-9])" if value[:1].isalnum() else ""
    return before + re.escape(value) + (r"(?![A-Za-z0-9])" if value[-1:].isalnum() else "")


class _Entry(Record):
    rule: str
    text: str


class Placeholders:
    """Values are remembered in memory only. The same value always gives the same placeholder."""

    def __init__(self) -> None:
        self._labels: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self._exact: dict[str, _Entry] = {}
        self._words: dict[str, _Entry] = {}
        self._pattern: re.Pattern[str] | None = None

    def everywhere(self, rule: str, value: str, forms: list[str]) -> None:
        """Replace the value and its other forms wherever they stand; users, hosts and names as words, in any case."""
        entry = _Entry(rule=rule, text=self._label(rule, value))
        if rule in _BOUNDED:
            self._words.setdefault(value.casefold(), entry)
        else:
            for form in forms:
                self._exact.setdefault(form, entry)
        self._pattern = None

    def in_context(self, rule: str, value: str, context: str) -> None:
        """Replace the value only where the context stands, escaped or not."""
        place = context.rfind(value)
        if place < 0:
            self.everywhere(rule, value, [value])
            return
        label = self._label(rule, value)
        for before, inner, after in zip(
            *(_escapings(part) for part in (context[:place], value, context[place + len(value) :])), strict=True
        ):
            self._exact.setdefault(before + inner + after, _Entry(rule=rule, text=before + label + after))
        self._pattern = None

    def replace(self, text: str, counts: Counter[str]) -> str:
        """The text with everything known replaced, longest first; placeholders are left alone."""
        if self._pattern is None:
            self._pattern = self._compiled()
        if self._pattern is None:
            return text

        def put(match: re.Match[str]) -> str:
            entry = self._exact.get(match[0]) or self._words.get(match[0].casefold())
            if entry is None:
                return match[0]
            counts[entry.rule] += 1
            return entry.text

        return self._pattern.sub(put, text)

    def left_in(self, text: str) -> int:
        """How many of the known values still stand in the text."""
        counts: Counter[str] = Counter()
        self.replace(text, counts)
        return counts.total()

    def secrets(self) -> list[str]:
        """Known values that an encoded text could hold."""
        return [value for value in (*self._exact, *self._words) if len(value) >= 6]

    def _label(self, rule: str, value: str) -> str:
        key = value.casefold() if rule in _BOUNDED else value
        if (rule, key) not in self._labels:
            known = next((label for (_, other), label in self._labels.items() if other == key), None)
            if known is None:
                self._numbers[rule] += 1
                number = self._numbers[rule]
                known = f"<{rule}-{number}>" if rule in PERSONAL else f"[REDACTED:{rule}-{number}]"
            self._labels[rule, key] = known
        return self._labels[rule, key]

    def _compiled(self) -> re.Pattern[str] | None:
        if not self._exact and not self._words:
            return None
        parts = [(len(value), _bounded(value)) for value in self._exact]
        parts += [(len(word), rf"(?<![A-Za-z0-9])(?i:{re.escape(word)})(?![A-Za-z0-9])") for word in self._words]
        parts.sort(key=lambda part: -part[0])
        return re.compile("|".join([PLACEHOLDER.pattern, *(pattern for _, pattern in parts)]))
