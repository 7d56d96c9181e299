from pathlib import Path

import pytest

from blocks.repositories import MirrorCache
from blocks.repositories.ignoring import ignored
from tests.history import History

IDENTITY = "https://example.org/tea/kettle"

pytestmark = pytest.mark.slow


def test_git_decides_by_the_rules_of_that_commit(tmp_path: Path) -> None:
    history = History(tmp_path / "source")
    plain = history.commit({"a.py": "x\n"}, "root", day=0)
    rules = {".gitignore": "*.log\n!keep.log\n/out/\n[ab].txt\n", "pkg/.gitignore": "local*\n", "kept.log": "tracked\n"}
    commit = history.commit(rules, "rules", day=1)
    repository = MirrorCache(tmp_path / "cache", {IDENTITY: str(history.folder)}).open(IDENTITY)
    asked = [
        "x.log", "deep/x.log", "keep.log", "kept.log", "out/a.py", "pkg/out/a.py", "pkg/local.py", "local.py", "a.txt",
        "c.txt", "../x.log", "/x.log", ":/x.log", ":(glob)x.log", ".git/x.log", "", "sp ace.log", "new\nline.log", "\u00fc.log",
    ]  # fmt: skip
    assert ignored(repository, commit, asked) == {
        "x.log", "deep/x.log", "kept.log", "out/a.py", "pkg/local.py", "a.txt", "sp ace.log", "new\nline.log", "\u00fc.log",
    }  # fmt: skip
    assert ignored(repository, plain, asked) == frozenset()
