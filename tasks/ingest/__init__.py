"""Ingest: from what lies in the inbox to consented, redacted candidates.

`inbox.py` finds contributions, `consent.py` lets them in, `cline/` and `prompt.py` read them, `redact/` cleans them in
memory, `contribution.py` puts that together, `commit.py` writes. Nothing is written before it is redacted.
"""
