"""One table of values and placeholders for a whole contribution, and the replacing."""

import re
from collections import Counter

from blocks.records import Record

PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]+-\d+\]|<(?:user|host|mail|phone|name|ip)-\d+>")
_BOUNDED = frozenset({"user", "host", "name"})
_PERSONAL = frozenset({"user", "host", "mail", "phone", "name", "ip"})


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

    def everywhere(self, rule: str, value: str, forms: list[str]) -> bool:
        """Replace the value and its other forms wherever they stand. True where that is new."""
        label = self._label(rule, value)
        if rule in _BOUNDED:
            known, key = self._words, value.casefold()
            fresh = key not in known
            known.setdefault(key, _Entry(rule=rule, text=label))
        else:
            fresh = any(form not in self._exact for form in forms)
            for form in forms:
                self._exact.setdefault(form, _Entry(rule=rule, text=label))
        self._pattern = None if fresh else self._pattern
        return fresh

    def in_context(self, rule: str, value: str, context: str) -> bool:
        """Replace the value only where the context stands. True where that is new."""
        if context in self._exact or value not in context:
            return False
        place = context.rindex(value)
        text = context[:place] + self._label(rule, value) + context[place + len(value) :]
        self._exact[context] = _Entry(rule=rule, text=text)
        self._pattern = None
        return True

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
        return [value for value in self._exact if len(value) >= 6]

    def _label(self, rule: str, value: str) -> str:
        key = value.casefold() if rule in _BOUNDED else value
        if (rule, key) not in self._labels:
            known = next((label for (_, other), label in self._labels.items() if other == key), None)
            if known is None:
                self._numbers[rule] += 1
                number = self._numbers[rule]
                known = f"<{rule}-{number}>" if rule in _PERSONAL else f"[REDACTED:{rule}-{number}]"
            self._labels[rule, key] = known
        return self._labels[rule, key]

    def _compiled(self) -> re.Pattern[str] | None:
        if not self._exact and not self._words:
            return None
        parts = [(len(value), re.escape(value)) for value in self._exact]
        parts += [(len(word), rf"(?<![A-Za-z0-9])(?i:{re.escape(word)})(?![A-Za-z0-9])") for word in self._words]
        parts.sort(key=lambda part: -part[0])
        return re.compile("|".join([PLACEHOLDER.pattern, *(pattern for _, pattern in parts)]))
