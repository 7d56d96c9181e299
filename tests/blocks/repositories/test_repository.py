from pathlib import Path

import pytest

from blocks.repositories import Commit, GitError, MirrorCache, ObjectsMissingError, Repository
from blocks.repositories.records import ChangeStatus
from blocks.trees import File, TreeUnsafeError
from tests.history import History, git

IDENTITY = "https://example.org/tea/kettle"


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "source")


@pytest.fixture
def opened(history: History, tmp_path: Path) -> "Opener":
    return Opener(history, tmp_path / "cache")


class Opener:
    def __init__(self, history: History, cache: Path) -> None:
        self.history = history
        self.cache = cache

    def __call__(self) -> Repository:
        return MirrorCache(self.cache, {IDENTITY: str(self.history.folder)}).open(IDENTITY)


def _tree(folder: Path, *entries: tuple[str, bytes, str]) -> str:
    """A commit whose tree is written byte by byte, as no git command would."""
    body = b"".join(b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(blob)) for mode, name, blob in entries)
    tree = git(folder, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=body)
    return git(folder, "commit-tree", "-m", "odd", tree)


def test_history_after_the_start(history: History, opened: Opener) -> None:
    root = history.commit({"a.py": "a\n"}, "root", day=0)
    side = history.commit(
        {"side.py": "s\n"}, "on a branch before the start\n\nFixes #7", day=3, branch="side", parents=[root]
    )
    start = history.commit({"a.py": "b\n"}, "start", day=2)
    late = history.commit({"a.py": "c\n"}, "just inside", day=12)
    merge = history.commit({"side.py": "s\n"}, "merge", day=12, parents=[late, side])
    history.commit({"a.py": "d\n"}, "outside", day=12.01)
    repository = opened()
    after = repository.commits_after(start, window_days=10)
    assert [commit.sha for commit in after] == [side, late, merge]
    assert after[0].subject == "on a branch before the start"
    assert after[0].body == "Fixes #7"
    assert after[0].parents == (root,)
    assert len(after[0].author_hash) == 16
    assert [change.path for change in repository.changes(merge)] == ["side.py"]
    assert repository.changes_of((repository.commit(root), after[2]))[root][0].status is ChangeStatus.ADDED
    assert repository.commits_after(history.tips["main"], window_days=10) == ()


def test_changes_and_edited_lines(history: History, opened: Opener) -> None:
    lines = [f"line {number}\n" for number in range(20)]
    base = history.commit({"a.py": "".join(lines), "gone.py": "x\n", "b.bin": b"\0\1"}, "base", day=0)
    lines[4] = "--- a/forged.py\n"
    lines[15:17] = ["+++ b/forged.py\n"]
    odd = 'new\tname "q" \u00fc.py'
    quoted = '"new\\tname \\"q\\" \u00fc.py"'
    tip = history.commit(
        {
            "a.py": "".join(lines),
            "gone.py": None,
            "b.bin": b"\0\2",
            quoted: "diff --git a/x b/x",
            ".gitattributes": "*.py binary\n",
        },
        "tip",
        day=1,
    )
    repository = opened()
    changes = {change.path: change for change in repository.changes(tip)}
    assert {path: change.status.value for path, change in changes.items()} == {
        "a.py": "M", "gone.py": "D", "b.bin": "M", odd: "A", ".gitattributes": "A",
    }  # fmt: skip
    assert (changes["a.py"].insertions, changes["a.py"].deletions, changes["a.py"].binary) == (2, 3, False)
    assert changes["b.bin"].binary
    assert changes["gone.py"].new_mode == "000000"
    assert repository.changes_between(base, tip) == repository.changes(tip)
    edits = repository.edited_lines(tip)
    assert set(edits) == {"a.py", "gone.py", odd, ".gitattributes"}
    assert [(hunk.old_start, hunk.new_start) for hunk in edits["a.py"].hunks] == [(5, 5), (16, 16)]
    assert edits["a.py"].added == {"--- a/forged.py", "+++ b/forged.py"}
    assert edits["a.py"].removed == {"line 4", "line 15", "line 16"}
    assert edits[odd].added == {"diff --git a/x b/x"}
    assert edits["gone.py"].hunks[0].added == ()
    assert "line 3" in repository.diff(base, tip)
    assert repository.diff(base, tip, ["gone.py"]).count("diff --git") == 1


def test_export_is_what_the_commit_holds(history: History, opened: Opener) -> None:
    weird = "a\nb.py"
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    base = history.commit(
        {'"a\\nb.py"': "x\n", ":(top)y.py": "y\n", "lfs.bin": pointer, ".gitattributes": "* text eol=crlf\n"},
        "base",
        day=0,
    )
    blob = git(history.folder, "hash-object", "-w", "--stdin", stdin=b"#!/bin/sh\n")
    target = git(history.folder, "hash-object", "-w", "--stdin", stdin=b"../a")
    inner = git(
        history.folder,
        "mktree",
        stdin=f"120000 blob {target}\tlink\n100755 blob {blob}\trun\n160000 commit {base}\tsub\n".encode(),
    )
    tree = git(
        history.folder, "mktree", stdin=f"{git(history.folder, 'ls-tree', base)}\n040000 tree {inner}\tbin\n".encode()
    )
    sha = git(history.folder, "commit-tree", "-m", "kinds", tree)
    git(history.folder, "update-ref", "refs/heads/main", sha)
    git(history.folder, "update-ref", "refs/tags/v1.2", base)
    repository = opened()
    snapshot = repository.snapshot(sha)
    assert snapshot.tree == repository.export(sha)
    assert snapshot.tree == {
        weird: File(content=b"x\n"),
        ":(top)y.py": File(content=b"y\n"),
        "lfs.bin": File(content=pointer),
        ".gitattributes": File(content=b"* text eol=crlf\n"),
        "bin/link": File(link="../a"),
        "bin/run": File(content=b"#!/bin/sh\n", executable=True),
    }
    assert snapshot.submodules == ("bin/sub",)
    assert snapshot.lfs_pointers == ("lfs.bin",)
    assert repository.read(sha, weird) == b"x\n"
    assert repository.read(sha, ":(top)y.py") == b"y\n"
    for absent in ("bin", "bin/", "bin/sub", "nothing", "*.bin"):
        assert repository.read(sha, absent) is None, absent
    assert repository.nearest_tag(base) == "v1.2"


def test_trees_that_may_not_be_carried_are_refused(history: History, opened: Opener) -> None:
    history.commit({"a.py": "a\n"}, "base", day=0)
    folder = history.folder
    blob = git(folder, "hash-object", "-w", "--stdin", stdin=b"/etc/passwd")
    inner = git(folder, "mktree", stdin=f"100644 blob {blob}\tx\n".encode())
    hostile = {
        "climbs": _tree(folder, ("40000", b"..", inner)),
        "git": _tree(folder, ("40000", b".GIT", inner)),
        "slash": _tree(folder, ("100644", b"../../x", blob)),
        "link": _tree(folder, ("120000", b"link", blob)),
        "bytes": _tree(folder, ("100644", b"\xff.py", blob)),
        "twice": _tree(folder, ("100644", b"x", blob), ("100644", b"x", blob)),
        "under": _tree(folder, ("100644", b"x", blob), ("40000", b"x", inner)),
    }
    for name, sha in hostile.items():
        git(folder, "update-ref", f"refs/heads/{name}", sha)
    repository = opened()
    refused = set()
    for name, sha in hostile.items():
        try:
            repository.export(sha)
        except TreeUnsafeError:
            refused.add(name)
    assert refused == set(hostile)
    with pytest.raises(TreeUnsafeError, match="more than 1"):
        repository.snapshot(history.tips["main"], max_bytes=1)


def test_a_damaged_mirror_is_not_believed(history: History, opened: Opener) -> None:
    sha = history.commit({"a.py": "a\n"}, "base", day=0)
    repository = opened()
    blob = repository.tree_paths(sha)[0].blob
    forged = git(history.folder, "hash-object", "-w", "--stdin", stdin=b"forged\n")
    loose = repository.path / "objects" / blob[:2] / blob[2:]
    for pack in (repository.path / "objects" / "pack").iterdir():
        pack.rename(repository.path / pack.name)
    git(repository.path, "unpack-objects", "-q", stdin=next(repository.path.glob("*.pack")).read_bytes())
    loose.chmod(0o644)
    loose.write_bytes((history.folder / "objects" / forged[:2] / forged[2:]).read_bytes())
    with pytest.raises((GitError, ObjectsMissingError)):
        repository.export(sha)


def test_ids_are_full_or_refused_and_odd_dates_are_survived(history: History, opened: Opener) -> None:
    sha = history.commit({"a.py": "a\n"}, "base", day=0)
    raw = git(history.folder, "cat-file", "commit", sha).replace("1750000000", "99999999999999999")
    odd = git(history.folder, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw.encode())
    git(history.folder, "update-ref", "refs/heads/odd", odd)
    repository = opened()
    assert isinstance(repository.commit(odd), Commit)
    assert repository.commits_after(sha, window_days=3) == ()
    for text in ("main", "--all", sha[:10], sha + "\n--all"):
        with pytest.raises(ValueError, match="full commit id"):
            repository.tree_paths(text)
