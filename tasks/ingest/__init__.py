"""Ingest: the inbox becomes consented, redacted candidates."""
