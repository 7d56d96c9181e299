"""Redaction, in memory, before anything is stored. Fails closed: without a working scanner nothing is let through.

One kept scanner (betterleaks) over decoded texts, plus the rules of data/redaction.toml. The same value gets the same
placeholder throughout a contribution. No value is ever logged, raised or counted by name.
"""

from tasks.ingest.redact.run import Redaction, redact_sessions
from tasks.ingest.redact.scanner import Finding, SecretScanner, open_scanner

__all__ = ["Finding", "Redaction", "SecretScanner", "open_scanner", "redact_sessions"]
