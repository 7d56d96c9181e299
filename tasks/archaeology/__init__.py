"""Archaeology: the start and the end state are rebuilt and tested in containers."""
