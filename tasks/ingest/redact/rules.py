"""The rules of data/redaction.toml."""

import ipaddress
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from blocks.records import Record

TABLE = Path(__file__).resolve().parents[3] / "data" / "redaction.toml"

Kind = Literal["user", "host", "mail", "phone", "name"]


class SecretRule(Record):
    """Finds secrets by pattern."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    pattern: re.Pattern[str]
    min_length: int = 8
    mixed: bool = False
    """The value must hold letters and digits."""


class PersonalRule(Record):
    """Finds personal details by pattern."""

    kind: Kind
    pattern: re.Pattern[str]


class Words(Record):
    """Word lists; all lower case."""

    generic: frozenset[str]
    common: frozenset[str]
    not_secret: frozenset[str]


class ScannerRules(Record):
    """Names of the scanner's own rules that are treated apart."""

    ignore: frozenset[str]
    check_for_code: frozenset[str]


class Addresses(Record):
    """Networks whose addresses stay."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    keep: tuple[ipaddress.IPv4Network, ...]


class Rules(Record):
    """The whole table."""

    secret: tuple[SecretRule, ...]
    personal: tuple[PersonalRule, ...]
    words: Words
    scanner: ScannerRules
    addresses: Addresses


@cache
def load_rules(path: Path = TABLE) -> Rules:
    """Read the table; patterns are compiled multi-line."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    for rule in [*table["secret"], *table["personal"]]:
        rule["pattern"] = re.compile(rule["pattern"], re.MULTILINE)
    return Rules.model_validate(table)
