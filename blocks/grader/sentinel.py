"""Tests that must fail: a run in which one of them does not has not been honest.

They lie beside the first and the last file that is run, under names and in a form that tell nothing of them; so they
are collected, ordered and reported by the same hooks as the real ones.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from . import tree
from .account import Account
from .submission import guard

_TEXT = """import unittest


class Test{cls}(unittest.TestCase):
    def test_{one}(self):
        self.assertEqual("{left}", "{right}")

    def test_{two}(self):
        assert "{left}" in ["{right}"]

    def test_{three}(self):
        raise ValueError("{left}")
"""


def plant(root: Path, test_files: tuple[str, ...], account: Account) -> tuple[tuple[str, ...], frozenset[str]]:
    """Write the sentinel files; returns the files to run, in order, and the ids that must fail."""
    folders = [path.rpartition("/")[0] for path in (test_files[:1] + test_files[-1:])] or [""]
    files, ids = [], set()
    for folder in folders:
        cls, one, two, three, left, right = (secrets.token_hex(4) for _ in range(6))
        path = f"{folder}/test_{secrets.token_hex(4)}.py".lstrip("/")
        tree.own(root / folder)
        text = _TEXT.format(cls=cls, one=one, two=two, three=three, left=left, right=right + "-")
        tree.write_new(root / path, text.encode("ascii"))
        guard(root, path, account)
        files.append(path)
        ids |= {f"{path}::Test{cls}::test_{name}" for name in (one, two, three)}
    return (files[0], *test_files, *files[1:]), frozenset(ids)
